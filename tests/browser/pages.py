"""Opens exported pages and those of the server in a browser and looks whether they do what they promise.

Usage: pages.py <directory of the programs> <axe.min.js> [<directory for pictures>]
"""

import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

from playwright.sync_api import sync_playwright

import reading
import world as worlds

PROGRAMS, AXE = sys.argv[1], pathlib.Path(sys.argv[2]).read_text()
PICTURES = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Tab:
    """A page with a record of what it should not do."""

    def __init__(self, browser, path, fragment="", **options):
        address = path if path.startswith("http:") else pathlib.Path(path).as_uri()
        state = SERVED.state if path.startswith("http:") else None
        self.context = browser.new_context(viewport=options.pop("viewport", {"width": 1280, "height": 860}),
                                           storage_state=state, **options)
        self.page = self.context.new_page()
        self.bad = []
        self.page.on("dialog", lambda dialog: (self.bad.append("dialog " + dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.bad.append("request " + request.url)
                     if request.resource_type != "document" or not request.url.startswith(("file:", SERVED.origin)) else None)
        self.page.on("console", lambda message: self.bad.append("console " + message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.bad.append("error " + str(error)))
        self.page.goto(address + fragment)

    def __enter__(self):
        return self.page

    def __exit__(self, kind, *_):
        self.context.close()
        if kind is None:
            assert not self.bad, self.bad


class Served:
    """A server, and what a browser has after it went through the link."""

    def __init__(self, browser, world):
        self.process = subprocess.Popen(["git-shiftlog-web", "--no-browser", "HEAD"], cwd=world.top, env=world.env,
                                        executable=os.path.join(PROGRAMS, "git-shiftlog-web"), stdout=subprocess.PIPE, text=True)
        link = self.process.stdout.readline().strip()
        self.origin = link.split("/?")[0]
        context = browser.new_context()
        page = context.new_page()
        page.goto(link)
        assert page.url == self.origin + "/", page.url
        self.state = context.storage_state()
        context.close()

    def end(self):
        self.process.terminate()
        self.process.wait()


SERVED = None


def named(fragment):
    """The selector of what a fragment names: an id may begin with a digit, and a selector '#6341fce' is none."""
    return f"[id='{fragment.lstrip('#')}']"


def top_of(page, fragment):
    return page.eval_on_selector(named(fragment), "e => e.getBoundingClientRect().top")


def is_seen(page, text):
    return page.get_by_text(text, exact=False).first.is_visible()


def wide(page):
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def nothing_hostile_happens(browser, files):
    with Tab(browser, files["villain"]) as page:
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        page.wait_for_timeout(300)
        elements = page.evaluate("[...new Set([...document.querySelectorAll('*')].map(e => e.localName))]")
        foreign = set(elements) & {"img", "iframe", "svg", "base", "form", "object", "embed", "link", "video"}
        assert not foreign, foreign
        assert page.evaluate("document.scripts.length") == 1 and page.evaluate("document.querySelectorAll('style').length") == 1
        handlers = page.evaluate("[...document.querySelectorAll('*')].flatMap(e => [...e.attributes])"
                                 ".filter(a => /^on|^style$/.test(a.name)).map(a => a.name)")
        assert not handlers, handlers
        hrefs = page.evaluate("[...document.links].map(a => a.protocol)")
        assert set(hrefs) <= {"file:", "http:", "https:", "mailto:"}, hrefs
        assert page.evaluate("document.querySelector('main').innerText").count("<script>alert(1)</script>") > 5
        assert page.url.startswith("file:"), page.url


def the_policy_stops_what_is_not_ours(browser, files):
    """Whatever got in would not run: tried with a page into which somebody has put it."""
    path = pathlib.Path(files["session"])
    broken = path.with_name("broken.html")
    broken.write_text(path.read_text().replace("<main", "<script>document.title = 'owned'</script>"
                      "<img src='https://evil.example/x.png' onerror=\"document.title = 'owned'\"><main", 1))
    context = browser.new_context()
    page = context.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("requestfailed", lambda request: asked.remove(request.url) if "csp" in (request.failure or "") else None)
    page.goto(broken.as_uri())
    page.wait_for_timeout(200)
    assert page.title() != "owned"
    assert not [url for url in asked if "evil" in url], asked
    context.close()


def a_deep_link_goes_to_its_turn(browser, files):
    for fragment, is_call in [("#t2", False), ("#t1m3", True)]:
        with Tab(browser, files["session"], fragment) as page:
            page.wait_for_timeout(300)
            assert 0 <= top_of(page, fragment) < 200, top_of(page, fragment)
            assert not is_call or page.eval_on_selector(named(fragment), "e => e.open"), fragment + " is closed"


def keys_walk_and_open(browser, files):
    with Tab(browser, files["session"]) as page:
        page.keyboard.press("J")
        page.keyboard.press("J")
        page.wait_for_timeout(600)
        assert page.evaluate("document.activeElement.id") == "t2"
        page.keyboard.press("K")
        assert page.evaluate("document.activeElement.id") == "t1"
        page.keyboard.press("]")
        assert page.evaluate("document.activeElement.className").startswith("commit")
        page.keyboard.press("K")
        for _ in range(2):
            page.keyboard.press("j")
        assert page.evaluate("document.activeElement.closest('details').className").find("thinking") >= 0
        page.keyboard.press("o")
        assert page.evaluate("document.activeElement.closest('details').open")
        page.keyboard.press("?")
        assert page.locator("dialog").is_visible()
        page.keyboard.press("Escape")
        page.keyboard.press("t")
        assert page.evaluate("document.documentElement.dataset.theme") == "light"
        page.keyboard.press("[")
        assert page.evaluate("document.activeElement.className").startswith("commit")
        page.keyboard.press("k")
        assert not page.evaluate("document.activeElement.className").startswith("commit")
        page.keyboard.press("O")
        assert page.locator("main details.work:not([open])").count() == 0
        page.keyboard.press("O")
        assert page.locator("main details.work:not([open])").count() > 3
        page.keyboard.press("v")
        assert page.locator("#view-full").is_checked() and page.url.endswith("?view=full")
        page.keyboard.press("y")
        page.wait_for_timeout(200)
        assert page.locator("[role=status]").inner_text() in ("link copied", "the link is in the address bar")
        # A key that the browser has a use for is the browser's.
        page.keyboard.press("Control+j")
        assert page.locator("#view-full").is_checked()


def views_show_what_they_say(browser, files):
    for scripts in (True, False):
        with Tab(browser, files["session"], java_script_enabled=scripts) as page:
            assert is_seen(page, "hammers the server") and page.locator(".thinking").first.is_visible()
            page.get_by_text("Focused", exact=True).click()
            assert is_seen(page, "hammers the server") and not page.locator(".thinking").first.is_visible()
            assert is_seen(page, "The cap holds") and not is_seen(page, "I would change three things")
            page.get_by_text("Full", exact=True).click()
            page.locator(".thinking .body").first.scroll_into_view_if_needed()
            assert page.locator(".thinking .body").first.is_visible()
    with Tab(browser, files["session"], "?view=focused") as page:
        assert page.locator("#view-focused").is_checked()


def wait_for_one_hit(page):
    page.locator("[role=status]", has_text=re.compile("^1 hit$")).wait_for(state="attached")
    assert page.locator(".hits li").count() == 1


def search_opens_what_it_finds(browser, files):
    with Tab(browser, files["session"]) as page:
        page.keyboard.press("/")
        page.keyboard.type("line 17 of relay/pool.py")
        page.wait_for_timeout(300)
        assert page.locator(".hits li").count() == 1
        assert page.locator("[role=status]").inner_text() == "1 hit"
        page.keyboard.press("Enter")
        page.wait_for_timeout(600)
        found = page.get_by_text("line 17 of relay/pool.py").last
        assert found.is_visible()
        page.locator(".search input").fill("/[0-9]+ passed/")
        page.wait_for_timeout(300)
        assert page.locator(".hits li").count() == 1
        page.locator(".search input").fill("delay")
        page.wait_for_timeout(300)
        page.keyboard.press("Enter")
        page.keyboard.press("Escape")
        for key, told in (("n", "hit 2 of"), ("N", "hit 1 of")):
            page.keyboard.press(key)
            assert page.locator("[role=status]").inner_text().startswith(told), key
        page.keyboard.press("/")
        page.locator(".search input").fill("nowhere to be found")
        page.wait_for_timeout(300)
        assert page.locator("[role=status]").inner_text() == "0 hits"


def the_overview_of_a_folder_finds_what_its_pages_say(browser, files):
    with Tab(browser, files["index"]) as page:
        page.keyboard.press("/")
        page.keyboard.type("longest wait in an hour")
        wait_for_one_hit(page)
        page.keyboard.press("Enter")
        page.wait_for_url("**/*.html#*t1m*")
        page.wait_for_timeout(300)
        assert 0 <= top_of(page, "#" + page.url.split("#")[1]) < 400, page.url
        assert is_seen(page, "The cap holds")
    with Tab(browser, files["index"]) as page:
        page.keyboard.press("/")
        page.keyboard.type("line 17 of relay/pool.py")
        wait_for_one_hit(page)
        page.locator(".hits button").click()
        page.wait_for_url("**/*.html#*t1m*")
        assert page.get_by_text("line 17 of relay/pool.py").last.is_visible()


def a_change_stands_beside_its_turns_and_each_leads_to_the_other(browser, files):
    """Beside on a wide screen, below on a narrow one; with and without scripts."""
    for name in ("commit", "web commit"):
        for scripts in (True, False):
            with Tab(browser, files[name], java_script_enabled=scripts) as page:
                boxes = [page.locator(s).bounding_box() for s in (".said", ".change")]
                assert boxes[1]["x"] >= boxes[0]["x"] + boxes[0]["width"] and abs(boxes[0]["y"] - boxes[1]["y"]) < 1, boxes
                link = page.locator(".hunk-head a").first
                turn = link.get_attribute("href")
                link.click()
                page.wait_for_timeout(600)
                assert 0 <= top_of(page, turn) < 250, (turn, top_of(page, turn))
                back = page.locator(named(turn) + " .wrote a").first
                back.scroll_into_view_if_needed()
                back.click()
                page.wait_for_timeout(600)
                assert page.locator(named(back.get_attribute("href"))).is_visible()
                assert 0 <= top_of(page, back.get_attribute("href")) < 700
        with Tab(browser, files[name], viewport={"width": 400, "height": 800}) as page:
            boxes = [page.locator(s).bounding_box() for s in (".said", ".change")]
            assert boxes[1]["y"] >= boxes[0]["y"] + boxes[0]["height"] and boxes[0]["x"] == boxes[1]["x"], boxes


def everything_is_there_without_scripts(browser, files):
    with Tab(browser, files["session"], java_script_enabled=False) as page:
        for text in ["hammers the server", "Double the delay", "link: back off with jitter", "Add a test for the cap"]:
            assert is_seen(page, text), text
        page.locator(".thinking summary").first.click()
        assert is_seen(page, "spreads them; a cap keeps recovery quick")
        page.locator("#contents a", has_text="Add a test").click()
        page.wait_for_timeout(600)
        assert 0 <= top_of(page, "#t2") < 250
        page.locator("a", has_text="turn 1").first.click()


def nothing_is_wider_than_a_phone(browser, files):
    for name in ["session", "commit", "villain", "index"]:
        for scale in ({"width": 400, "height": 800}, {"width": 1280, "height": 800}):
            with Tab(browser, files[name], "?view=full", viewport=scale) as page:
                assert wide(page) <= 0, (name, scale, wide(page))


def colours_follow_the_system_and_the_choice(browser, files):
    shades = {}
    for scheme in ("light", "dark"):
        with Tab(browser, files["session"], color_scheme=scheme) as page:
            shades[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert shades["light"] != shades["dark"], shades
    with Tab(browser, files["dark"], color_scheme="light") as page:
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == shades["dark"]


def print_has_the_words_and_no_columns(browser, files):
    with Tab(browser, files["session"]) as page:
        page.emulate_media(media="print")
        assert not page.locator("#contents").is_visible() and not page.locator("header.top").is_visible()
        assert is_seen(page, "hammers the server")
        page.locator(".thinking .body").first.scroll_into_view_if_needed()
        assert page.locator(".thinking .body").first.is_visible(), "what is closed is printed, too"
        assert len(page.pdf()) > 20000
    # Paper is white, whatever the screen was.
    shades = []
    for name in ("commit", "dark"):
        with Tab(browser, files[name]) as page:
            page.emulate_media(media="print")
            shades.append(page.evaluate("['body', '.diff ins', '.prompt'].map(s => getComputedStyle(document.querySelector(s)).backgroundColor)"))
    assert shades[0] == shades[1], shades


def serious_findings(page):
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    page.evaluate(AXE)
    return page.evaluate("axe.run().then(r => r.violations.filter(v => ['serious', 'critical'].includes(v.impact))"
                         ".map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 120) + ' ' + "
                         "(n.any[0] ? n.any[0].message : '')).join(' | ')))")


def axe_finds_nothing_serious(browser, files):
    for name in ["session", "commit", "index"]:
        for scheme in ("light", "dark"):
            context = browser.new_context(color_scheme=scheme, bypass_csp=True, viewport={"width": 1280, "height": 900},
                                          reduced_motion="reduce")
            page = context.new_page()
            page.goto(pathlib.Path(files[name]).as_uri())
            found = serious_findings(page)
            context.close()
            assert not found, (name, scheme, found)


def long_pages_open_whole(browser, files):
    """10 and 100 MB of transcript: the last turn is there, is found and can be gone to. Prints what a reader waits for."""
    for name, turns in LONG.items():
        with Tab(browser, files[name]) as page:
            page.wait_for_timeout(300)
            times = page.evaluate("({ready: performance.timing.domContentLoadedEventEnd - performance.timing.navigationStart,"
                                  "paint: (performance.getEntriesByName('first-contentful-paint')[0] || {}).startTime,"
                                  "nodes: document.querySelectorAll('*').length})")
            # Two frames later what was gone to is on the screen.
            jump = page.evaluate("last => new Promise(done => { const from = performance.now(); location.hash = last;"
                                 "requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - from))); })",
                                 f"#t{turns}")
            page.wait_for_timeout(300)
            assert -1 <= top_of(page, f"#t{turns}") < 860, top_of(page, f"#t{turns}")
            page.keyboard.press("/")
            page.keyboard.type(f"Prompt number {turns}:")
            wait_for_one_hit(page)
            size = os.path.getsize(files[name])
            print(f"  {size / 1e6:.2f} MB, {times['nodes']} elements: first paint {times['paint']:.0f} ms, "
                  f"ready {times['ready']:.0f} ms, jump {jump:.0f} ms")


def addresses_of(world, commits):
    """The pages of the server, by the names that the cases use."""
    whole = world.run("git", "rev-parse", *commits).split()
    addresses = {
        "overview": "/", "web commit": f"/c/{whole[0]}", "web session": f"/s/claude/{worlds.RECONNECT}",
        "blame": f"/why/{whole[1]}/relay/link.py", "search": "/search?q=jitter", "branches": "/branches",
        "stats": "/stats", "commits": "/commits", "about": "/about",
    }
    return {name: SERVED.origin + address for name, address in addresses.items()}


SERVER_PAGES = ["overview", "web commit", "web session", "blame", "search", "branches", "stats", "commits", "about"]


def pages_of_the_server_hold_what_those_in_files_hold(browser, files):
    """No request but for the page itself, nothing wider than the screen, no serious finding of axe."""
    for name in SERVER_PAGES:
        for width in (400, 1280):
            for scheme in ("light", "dark"):
                with Tab(browser, files[name], viewport={"width": width, "height": 800}, color_scheme=scheme) as page:
                    assert wide(page) <= 0, (name, width, wide(page))
        for scheme in ("light", "dark"):
            context = browser.new_context(storage_state=SERVED.state, bypass_csp=True, reduced_motion="reduce", color_scheme=scheme)
            page = context.new_page()
            page.goto(files[name])
            findings = serious_findings(page)
            context.close()
            assert not findings, (name, scheme, findings)


def a_link_of_the_server_leads_to_its_turn(browser, files):
    with Tab(browser, files["web session"], "#t2") as page:
        page.wait_for_timeout(300)
        assert 0 <= top_of(page, "#t2") < 200, top_of(page, "#t2")
    with Tab(browser, files["overview"]) as page:
        page.locator("input[name=q]").fill("jitter")
        page.keyboard.press("Enter")
        page.wait_for_url("**/search?q=jitter")
        page.locator(".hit h3 a").first.click()
        page.wait_for_url("**/c/**")
        assert page.url.rsplit("#", 1)[1].startswith("t"), page.url
        assert is_seen(page, "hammers the server")
        page.locator("nav.site a", has_text="Costs").click()
        page.wait_for_url("**/stats")
        page.locator(".choices a", has_text="Day").click()
        assert is_seen(page, "list prices of")
    with Tab(browser, files["blame"]) as page:
        page.locator("a.turn-link").first.click()
        page.wait_for_url("**/c/**#t*")


def nothing_hostile_happens_on_the_server(browser, files):
    for name in ["web villain", "hostile search"]:
        with Tab(browser, files[name]) as page:
            page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
            page.wait_for_timeout(300)
            assert page.evaluate("document.scripts.length") == 1
            assert page.url.startswith(SERVED.origin)
    # A page of another site may neither show ours nor send its forms, and a browser that came no other way gets nothing.
    context = browser.new_context()
    page = context.new_page()
    assert page.goto(files["web session"]).status == 403
    assert not is_seen(page, "hammers the server")
    context.close()


def pictures(browser, files):
    """Pictures of a repository that only has what people would show."""
    global SERVED
    PICTURES.mkdir(parents=True, exist_ok=True)
    SERVED.end()
    world = worlds.World(os.path.join(os.path.dirname(files["session"]), "shown"), PROGRAMS)
    commits = worlds.stories(world)
    worlds.week(world)
    SERVED = Served(browser, world)
    files = files | addresses_of(world, commits)
    for name in ["index", "session", "commit"] + SERVER_PAGES:
        for scheme in ("light", "dark"):
            for width, height in ((1280, 860), (400, 800)):
                with Tab(browser, files[name], viewport={"width": width, "height": height}, color_scheme=scheme) as page:
                    page.screenshot(path=PICTURES / f"{name.replace(' ', '-')}-{scheme}-{width}.png")


# The long sessions and how many turns they have.
LONG = {"long": 60, "vast": 600}


def long_session(world, name):
    """Sixty turns of six calls are 10 MB of transcript, of which a page shows a seventh."""
    c = worlds.Session(world, name)
    chance = random.Random(7)
    # Numbers: words that say the same again and again are stored in next to nothing, and then not shown.
    c.beside = lambda: {"toolUseResult": {"originalFile": " ".join(map(str, chance.choices(range(10**6), k=1200)))}}
    for turn in range(1, LONG[name] + 1):
        c.prompt(f"Prompt number {turn}: go on with the next module, and keep the tests green.")
        for step in range(6):
            c.says(f"Step {step} of turn {turn}.\n\n- it does `this({step})`\n- and then **that**\n\n" + "Words go on. " * 40)
            c.call("Bash", "\n".join(f"output {n} of step {step}" for n in range(80)), command=f"make step-{step}")
    world.write(name + ".txt", "x\n")
    return c.commit(f"a {name} session")


def main():
    global SERVED
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        place = os.path.realpath(place)
        world = worlds.World(place, PROGRAMS)
        commits = worlds.stories(world)
        site = os.path.join(place, "site")
        world.export("-o", site + "/", "--title=Conversations of relay", "HEAD")
        world.export("-o", site + "/", "--title=Conversations of relay", "HEAD~4..")
        files = {"index": os.path.join(site, "index.html")}
        for name, words in {
            "session": ["--full", commits[1]], "commit": [commits[0]], "dark": ["--theme=dark", commits[0]],
        }.items():
            files[name] = os.path.join(place, name + ".html")
            world.export("-o", files[name], *words)
        made = {"villain": worlds.villain(world)} | {name: long_session(world, name) for name in LONG}
        for name, commit in made.items():
            files[name] = os.path.join(place, name + ".html")
            world.export("-o", files[name], commit)
        files["packed"] = os.path.join(place, "packed.html")
        world.export("-o", files["packed"], "--embed=always", made["long"])
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        SERVED = Served(browser, world)
        villain = world.run("git", "log", "-1", "--format=%H", "--grep=a commit </script>", "--fixed-strings").strip()
        files |= addresses_of(world, commits)
        files["web villain"] = f"{SERVED.origin}/c/{villain}"
        files["hostile search"] = f"{SERVED.origin}/search?q={urllib.parse.quote(worlds.HOSTILE)}"
        cases = [nothing_hostile_happens, the_policy_stops_what_is_not_ours, a_deep_link_goes_to_its_turn, keys_walk_and_open,
                 views_show_what_they_say, search_opens_what_it_finds, the_overview_of_a_folder_finds_what_its_pages_say,
                 a_change_stands_beside_its_turns_and_each_leads_to_the_other, everything_is_there_without_scripts,
                 nothing_is_wider_than_a_phone, colours_follow_the_system_and_the_choice, print_has_the_words_and_no_columns,
                 axe_finds_nothing_serious, pages_of_the_server_hold_what_those_in_files_hold,
                 a_link_of_the_server_leads_to_its_turn, nothing_hostile_happens_on_the_server, long_pages_open_whole,
                 *reading.cases(Tab, AXE)] + ([pictures] if PICTURES else [])
        failed = []
        for case in cases:
            try:
                case(browser, files)
                print("ok", case.__name__.replace("_", " "))
            except Exception as error:  # Each case is tried, whatever the others do.
                failed.append(case)
                print("FAILED", case.__name__.replace("_", " "), "-", type(error).__name__, str(error)[:1500])
        browser.close()
        SERVED.end()
        sys.exit(1 if failed else 0)


main()
