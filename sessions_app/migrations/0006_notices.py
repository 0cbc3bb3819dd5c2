from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('sessions_app', '0005_handles'),
    ]

    operations = [
        migrations.AddField(
            model_name='checkpointrequest',
            name='announced_at',
            field=models.DateTimeField(null=True),
        ),
    ]
