from django.db import migrations, models


class Migration(migrations.Migration):
    """Postgres makes a text of it without looking at a row."""

    dependencies = [
        ("sessions_app", "0028_what_hangs_on_seals"),
    ]

    operations = [
        migrations.AlterField(
            model_name="worksession", name="head_seal", field=models.TextField(blank=True, db_default="")
        ),
    ]
