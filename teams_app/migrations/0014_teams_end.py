from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("teams_app", "0013_who_is_still_in"),
    ]

    operations = [
        migrations.AddField(model_name="team", name="ended_at", field=models.DateTimeField(null=True)),
        migrations.AddField(model_name="team", name="emptied_at", field=models.DateTimeField(null=True)),
    ]
