"""Paper: what a browser at hand makes of an HTML page."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from django.core.management.base import CommandError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_SECONDS = 60


def print_to_pdf(page: bytes) -> bytes:
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        raise CommandError("There is no Chromium to make a PDF with. Write a .html file and print that.")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "page.html"), Path(folder, "page.pdf")
        source.write_bytes(page)
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-pdf-header-footer",
            f"--user-data-dir={folder}/p",
        ]
        command = [browser, *options, f"--print-to-pdf={target}", source.as_uri()]
        subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
        if not target.is_file():
            raise CommandError("Chromium made no PDF. Write a .html file and print that.")
        return target.read_bytes()
