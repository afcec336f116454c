"""What a reader sees and finds: the search of each page, costs on a narrow screen, words from right to left."""

# A name and a sentence in Hebrew.
NAME, SENTENCE = "\u05d0\u05d1\u05e8\u05d4\u05dd", "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd, relay!"
LONG = "packages/relay-of-a-company/source/integration/adapters/link_with_a_long_name_and_a_longer_one.py"


def cases(tab, axe):
    """The cases, each with the tab that it opens pages in."""
    def find_reads_every_page(browser, files):
        for name, words, told in [("overview", "jitter", " · "), ("index", "claude", " · "), ("stats", "claude", " · "),
                                  ("branches", "main", " · "), ("about", "repository", " · "), ("blame", "delay", "delay"),
                                  ("search", "jitter", " · ")]:
            with tab(browser, files[name]) as page:
                page.evaluate("document.activeElement.blur()")
                page.keyboard.press("/")
                page.keyboard.type(words)
                page.wait_for_timeout(400)
                hits = page.locator(".hits li").all_inner_texts()
                assert hits and words in hits[0].lower() and told in hits[0], (name, hits[:3])
                page.keyboard.press("Enter")
                page.wait_for_timeout(200)
                assert page.locator("[role=status]").inner_text().startswith("hit 1 of"), name
        with tab(browser, files["session"]) as page:
            page.keyboard.press("/")
            page.keyboard.type("hammers the server")
            page.wait_for_timeout(400)
            hits = page.locator(".hits li").all_inner_texts()
            assert hits and "PromptThe" not in hits[0], hits[:2]

    def costs_are_seen_and_nothing_covers_them(browser, files):
        for width in (400, 1280):
            with tab(browser, files["stats"] + "?by=path", viewport={"width": width, "height": 800}) as page:
                page.evaluate("name => document.querySelectorAll('td.key').forEach(e => { e.textContent = name; })", LONG)
                rows = page.evaluate("[...document.querySelectorAll('tbody tr')].map(r => [...r.cells].filter(c => c.offsetWidth)"
                                     ".map(c => [c.className, c.getBoundingClientRect().right, c.scrollWidth - c.clientWidth]))")
                assert rows and all(cell[2] <= 1 for row in rows for cell in row), (width, rows[0])
                costs = [cell for row in rows for cell in row if cell[0] == "number"]
                assert costs and all(cell[1] <= width for cell in costs), (width, costs)

    def words_from_right_to_left_stay_where_they_belong(browser, files):
        edge = ("([e, text]) => { e = document.querySelector(e); e.textContent = text; const r = new Range();"
                "r.selectNodeContents(e); const box = e.getBoundingClientRect(), own = r.getBoundingClientRect();"
                "return [own.left - box.left, box.right - own.right]; }")
        with tab(browser, files["session"]) as page:
            for place in (".typed", ".answer p"):
                left, right = page.evaluate(edge, [place, SENTENCE])
                assert right < 40 < left, (place, left, right)
                left, right = page.evaluate(edge, [place, "relay: " + SENTENCE])
                assert left < 40 < right, (place, left, right)
            name, time = page.evaluate("name => { const by = document.querySelector('.commit .by'), bdi = by.querySelector('bdi');"
                                       "bdi.textContent = name + ' 12'; return [bdi, by.querySelector('time')]"
                                       ".map(e => e.getBoundingClientRect().left); }", NAME)
            assert name < time, (name, time)

    def landmarks_and_headings_are_in_order(browser, files):
        for name in ["session", "commit", "web commit", "search", "overview", "stats"]:
            with tab(browser, files[name], bypass_csp=True) as page:
                page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
                page.evaluate(axe)
                found = page.evaluate("axe.run({runOnly: ['landmark-unique', 'heading-order']}).then(r => r.violations.map("
                                      "v => v.id + ': ' + v.nodes.map(n => n.html.slice(0, 120)).join(' | ')))")
                assert not found, (name, found)

    def packed_answers_are_put_where_they_belong(browser, files):
        answers = "[...document.querySelectorAll('pre.result')].map(e => e.textContent)"
        with tab(browser, files["long"]) as page:
            wanted = page.evaluate(answers)
        with tab(browser, files["packed"]) as page:
            page.wait_for_function("!document.body.textContent.includes('which JavaScript unpacks')")
            assert len(wanted) > 300 and page.evaluate(answers) == wanted
            page.keyboard.press("/")
            page.keyboard.type("output 7 of step 3")
            page.wait_for_timeout(400)
            assert page.locator(".hits li").count() >= 60
        with tab(browser, files["packed"], java_script_enabled=False) as page:
            assert "40 lines, which JavaScript unpacks" in page.content()

    return [find_reads_every_page, packed_answers_are_put_where_they_belong, costs_are_seen_and_nothing_covers_them, words_from_right_to_left_stay_where_they_belong,
            landmarks_and_headings_are_in_order]
