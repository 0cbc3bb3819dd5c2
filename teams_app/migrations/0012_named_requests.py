from django.db import migrations, models


class Migration(migrations.Migration):
    """Requests that their callers have named, so that each is begun once."""

    dependencies = [("teams_app", "0011_sign_on_identities")]

    operations = [
        migrations.CreateModel(
            name="NamedRequest",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("team_id", models.UUIDField()),
                ("asked", models.BinaryField(max_length=32)),
                ("answer", models.BinaryField(null=True)),
                ("created_at", models.DateTimeField()),
            ],
        ),
    ]
