from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("sessions_app", "0023_notes_sorted_in_together"),
    ]

    operations = [
        migrations.AddField(
            model_name="teampreferences",
            name="updated_by",
            field=models.CharField(blank=True, db_default="", default="", max_length=128),
        ),
    ]
