"""A real browser for the tests of the Studio: signed in, and with an ear for all that it complains of."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_AXE = Path(__file__).parent / "vendor" / "axe-core" / "axe.min.js"
PASSWORD = "correct horse battery"


def browse(base, person, do, **context):
    """What `do(page)` gives, and the complaints. In a thread of its own: the browser's loop and Django's connections do
    not share one.
    """
    person.set_password(PASSWORD)
    person.save(update_fields=["password"])
    complaints = []

    def visit():
        from playwright.sync_api import sync_playwright

        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            try:
                page = browser.new_page(base_url=base, **context)
                page.on("console", lambda said: complaints.append(said.text) if said.type != "log" else None)
                page.on("pageerror", lambda error: complaints.append(str(error)))
                sign_in(page, person.username)
                return do(page)
            finally:
                browser.close()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(visit).result(), complaints


def faults_of(page):
    """What axe-core finds on the page that is serious or critical, in short."""
    if not page.evaluate("Boolean(window.axe)"):
        # By the debugger: the page's own policy lets no such script in.
        page.evaluate(_AXE.read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [
        f"{fault['id']}: {fault['nodes'][0]['html'][:160]}"
        for fault in found
        if fault["impact"] in {"serious", "critical"}
    ]


def sign_in(page, name):
    page.goto("/studio/")
    page.fill("#id_username", name)
    page.fill("#id_password", PASSWORD)
    page.click("#login-form button[type=submit]")
    page.wait_for_selector("#user-tools", state="attached")


def photograph(page, paths, to):
    """Each page at 1440 and 390, light and dark, into the folder; what is too wide, or what axe-core finds, is given back.
    Colours are the same in both widths, so axe-core looks at them in both themes once.

    A path may come with the status that its page has.
    """
    faults = []
    for width, height, suffix in ((1440, 900, ""), (390, 844, "-phone")):
        page.set_viewport_size({"width": width, "height": height})
        for name, place in paths.items():
            path, status = place if isinstance(place, tuple) else (place, 200)
            found = page.goto(path).status
            faults.extend([f"{path} answers {found}"] if found != status else [])
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            faults.extend([f"{name}{suffix} is {wide} too wide"] if wide > 0 else [])
            for theme in ("light", "dark"):
                page.emulate_media(color_scheme=theme, reduced_motion="reduce")
                page.screenshot(path=to / f"{name}{suffix}{'-dark' if theme == 'dark' else ''}.png")
                grave = [] if (suffix, theme) == ("-phone", "dark") else faults_of(page)
                faults.extend(f"{name}{suffix} {theme} {fault}" for fault in grave)
    return faults
