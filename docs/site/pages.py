# SPDX-License-Identifier: MIT
"""Makes the site: every Markdown file a page at the same place, a page for each header, the manual, and a page for
each file of the repository to which one of these leads. Needs markdown-it, Pygments and mandoc."""
import html
import json
import os
import re
import shutil
import string
import subprocess

import headers as reader
import links
from markdown_it import MarkdownIt
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.util import ClassNotFound

HERE = os.path.dirname(os.path.abspath(__file__))
ASSETS = ("site.css", "site.js", "icon.svg")
IMAGES = (".svg", ".png")
INDEX = "site/search-index.js"
CONTENTS = "docs/README.md"
HEADERS_INDEX = "include/tenon/index.html"
LIGHT, DARK = "friendly", "github-dark"
SUB = " class=\"sub\""
CURRENT = " aria-current=\"page\""
SIGN = "<a class=\"anchor\" href=\"#{0}\" aria-label=\"Link to this place\">#</a>"
TAG = re.compile(r"(<[^>]+>)")
WORD = re.compile(r"\b[A-Za-z]\w*_\w+\b(?:\(\))?")


class OccupiedError(Exception):
    pass


def markdown(with_html):
    """Comments in headers are Markdown too, as far as they look like it, but have no HTML."""
    return MarkdownIt("commonmark", {"html": with_html, "highlight": colour}).enable(["table", "strikethrough"])


def colour(code, language, _attributes=""):
    """A piece of code with its colours; as it is where there is no such language."""
    try:
        lexer = get_lexer_by_name(language, stripnl=False) if language else None
    except ClassNotFound:
        lexer = None
    if lexer is None:
        return f"<pre class=\"plain\"><code>{html.escape(code)}</code></pre>"
    return f"<pre><code>{highlight(code, lexer, HtmlFormatter(nowrap=True))}</code></pre>"


def plain(text):
    return html.unescape(re.sub(r"<[^>]+>", "", text)).strip()


def target_page(path):
    """Where in the site a file of the repository is found."""
    if os.path.basename(path) == "README.md":
        return os.path.join(os.path.dirname(path), "index.html")
    return path[:-len(".md")] + ".html" if path.endswith(".md") else path + ".html"


class Page:
    def __init__(self, path, title, source):
        self.path, self.title, self.source = path, title, source
        self.body, self.toc, self.kind = "", [], "page"

    def link(self, target):
        return os.path.relpath(target, os.path.dirname(self.path) or ".").replace(os.sep, "/")


class Site:
    def __init__(self, root, out, header_names):
        self.root, self.out = root, out
        self.markdown, self.comments = markdown(True), markdown(False)
        self.files = {f.name: f for f in links.markdown_files(root)}
        self.headers = [reader.Header(name, self.read(name)) for name in header_names]
        self.pages, self.search, self.names, self.images, self.waiting = {}, [], {}, set(), []
        self.wanted, self.definitions = set(), {}
        for header in self.headers:
            self.name_all(header)

    def read(self, name):
        with open(os.path.join(self.root, name), encoding="utf-8", errors="replace") as f:
            return f.read()

    # ---- names of the interface --------------------------------------------------------------------------

    def name_all(self, header):
        page = header_page(header.name)
        for found in [d for e in header.entries if not reader.is_announcement(e) for d in e.declarations]:
            if found.name and (found.members or found.name not in self.names):
                self.names[found.name] = f"{page}#{found.name}"
            for member in found.members:
                for name in member.names:
                    if found.kind in ("enum", "macro"):
                        self.names.setdefault(constant(found, name), f"{page}#{constant(found, name)}")
                    elif found.name == "tenon_conf":
                        self.names.setdefault(name, f"{page}#{found.name}.{name}")

    def link_names(self, page, text, prose=False):
        """Names of the interface become links: in code, and in comments everywhere."""
        out, inside, pre = [], {"a": 0, "code": 0, "h1": 0, "h2": 0, "h3": 0}, prose
        for piece in TAG.split(text):
            tag = re.match(r"<(/?)(\w+)", piece)
            if tag and tag.group(2) in inside:
                inside[tag.group(2)] += -1 if tag.group(1) else 1
            elif not tag and not inside["a"] and not any(inside[h] for h in ("h1", "h2", "h3")) \
                    and (inside["code"] or pre):
                wrap = "{}" if inside["code"] else "<code>{}</code>"
                piece = WORD.sub(lambda m, wrap=wrap: self.link_name(page, m.group(0), wrap), piece)
            out.append(piece)
        return "".join(out)

    def link_name(self, page, word, wrap):
        target = self.names.get(word.removesuffix("()"))
        if target is None:
            return word
        return f"<a class=\"name\" href=\"{page.link(target)}\">{wrap.format(word)}</a>"

    # ---- pages from Markdown -----------------------------------------------------------------------------

    def add_markdown(self, file):
        page = Page(target_page(file.name), file.name, file.name)
        tokens = self.markdown.parse(file.text)
        used = set()
        for at, token in enumerate(tokens):
            if token.type == "heading_open":
                self.mark_heading(page, token, tokens[at + 1], used)
            for child in token.children or []:
                self.follow(page, file.name, child)
        page.body = self.finish(page, self.markdown.renderer.render(tokens, self.markdown.options, {}))
        if file.name == "docs/conformance.md":
            page.body, page.kind = self.mark_rows(page, page.body), "wide"
        self.pages[page.path] = page

    def mark_heading(self, page, token, inline, used):
        text = plain(self.markdown.renderer.render([inline], self.markdown.options, {}))
        anchor = links.unique(links.slug(inline.content), used)
        token.attrSet("id", anchor)
        level = int(token.tag[1])
        if level == 1:
            page.title = text
            self.search.append((text, "", page.path))
        else:
            page.toc += [(level, text, anchor)] if level <= 3 else []
            self.search.append((text, page.title, f"{page.path}#{anchor}"))

    def follow(self, page, source, token):
        """A link or an image of a Markdown file, to the place in the site where its target is."""
        name = {"link_open": "href", "image": "src"}.get(token.type)
        target = token.attrGet(name) if name else None
        if target is None or links.is_external(target) or target.startswith("#"):
            return
        path, anchor = links.resolve(source, target)
        if path.endswith(IMAGES):
            self.images.add(path)
            token.attrSet(name, page.link(path))
            return
        token.attrSet(name, page.link(self.place(path)) + (f"#{anchor}" if anchor else ""))

    def place(self, path):
        """The page of a file or folder; made later where there is none yet."""
        if path in self.files:
            return target_page(path)
        if path.rstrip("/") == "include/tenon":
            return HEADERS_INDEX
        if path.endswith(".h") and any(h.name == path for h in self.headers):
            return header_page(path)
        if os.path.isdir(os.path.join(self.root, path)):
            if f"{path}/README.md" in self.files:
                return f"{path}/index.html"
            self.want(path)
            return f"{path}/index.html"
        self.want(path)
        return path + ".html"

    def want(self, path):
        if path not in self.wanted:
            self.wanted.add(path)
            self.waiting.append(path)

    def finish(self, page, body):
        body = body.replace("<table>", "<div class=\"table\"><table>").replace("</table>", "</table></div>")
        body = re.sub(r"<(h[2-4]) id=\"([^\"]+)\">(.*?)</\1>",
                      lambda m: f"<{m[1]} id=\"{m[2]}\">{m[3]}{SIGN.format(m[2])}</{m[1]}>", body)
        return self.link_names(page, body)

    def mark_rows(self, page, body):
        """Rows of the conformance tables can be linked to and found by their id; functions lead to their first line."""
        def row(match):
            columns = re.findall(r"<td>(.*?)</td>", match.group(0))
            name, status = match.group(1), columns[3]
            self.search.append((f"{name}: {plain(columns[4])}", page.title, f"{page.path}#{name}"))
            return match.group(0).replace("<tr>", f"<tr id=\"{name}\">", 1) \
                .replace(f"<td>{status}</td>", f"<td class=\"status {status.replace('.', '')}\">{status}</td>", 1)
        body = re.sub(r"<tr>\s*<td>([A-Z0-9][\w.]*-[\w.-]+)</td>(?:(?!</tr>).)*</tr>", row, body, flags=re.S)
        return re.sub(r"<a href=\"([^\"#]+\.[ch])\.html\"><code>(\w+)</code>",
                      lambda m: self.to_function(page, m.group(1), m.group(2)), body)

    def to_function(self, page, href, name):
        path, _ = links.resolve(page.path, href)
        if path not in self.definitions:
            text = self.read(path)
            self.definitions[path] = {m.group(1): text.count("\n", 0, m.start(1)) + 1 for m in re.finditer(
                r"^(?!\s|#|\*|/)[^;{}=()\n]*?\b(\w+)\([^;{}]*?\)\n\{", text, re.M)}
        line = self.definitions[path].get(name)
        return f"<a href=\"{href}.html{f'#L{line}' if line else ''}\"><code>{name}</code>"

    # ---- the interface -----------------------------------------------------------------------------------

    def add_header(self, header):
        page = Page(header_page(header.name), header.name.removeprefix("include/"), header.name)
        out = [f"<h1><code>{page.title}</code></h1>", self.prose(page, header.comment)]
        self.search.append((page.title, "", page.path))
        section = ""
        for entry in header.entries:
            if reader.is_announcement(entry):
                continue
            if entry.section != section:
                section = entry.section
                anchor, title = "section-" + links.slug(section), section[:1].upper() + section[1:]
                page.toc.append((2, title, anchor))
                out.append(f"<h2 id=\"{anchor}\">{html.escape(title)}</h2>")
            out.append(self.entry(page, entry))
        page.body = "\n".join(out)
        self.pages[page.path] = page

    def entry(self, page, entry):
        out = []
        for found in entry.declarations:
            title = found.title() if found.name else " ".join(m.names[0] for m in found.members[:3] if m.names)
            anchor = f" id=\"{found.name}\"" if self.names.get(found.name) == f"{page.path}#{found.name}" else ""
            page.toc += [(3, title, found.name)] if anchor else []
            self.search += [(title, page.title, f"{page.path}#{found.name}")] if anchor else []
            out.append(f"<h3{anchor}><code>{html.escape(title)}</code>{SIGN.format(found.name) if anchor else ''}</h3>")
            if found.kind in ("function", "typedef", "object", "macro"):
                end = "" if found.kind == "macro" else ";"
                out.append(self.link_names(page, colour(layout(found.code) + end, "c")))
        out.append(self.contract(page, entry.comment))
        out += [self.members(page, found) for found in entry.declarations if found.members]
        return "<section class=\"entry\">" + "\n".join(out) + "</section>"

    def contract(self, page, comment):
        text, params, returns = reader.contract(comment)
        out = [self.prose(page, text)]
        if params:
            out.append("<dl class=\"params\">" + "".join(
                f"<dt><code>{name}</code></dt><dd>{self.inline(page, what)}</dd>" for name, what in params) + "</dl>")
        out += [f"<div class=\"returns\"><b>Returns</b>{self.returns(page, returns)}</div>"] if returns else []
        return "\n".join(out)

    def returns(self, page, text):
        """A paragraph, or a list where each value has a line of its own."""
        rows = re.findall(r"^\s*(TENON_\w+|\S+) {2,}(.*(?:\n(?!\s*TENON_\w+ {2,}).*)*)", text, re.M)
        if len(rows) < 2:
            return self.prose(page, text)
        return "<dl class=\"params\">" + "".join(
            f"<dt>{self.inline(page, value)}</dt><dd>{self.inline(page, reader.squeeze(what))}</dd>"
            for value, what in rows) + "</dl>"

    def members(self, page, found):
        out = []
        for member in found.members:
            listed = found.kind in ("enum", "macro")
            names = [constant(found, n) if listed else f"{found.name}.{n}" for n in member.names]
            # One that is declared twice, for two kinds of machine, keeps the first place.
            mine = [n for n in names if not listed or self.names.get(n) == f"{page.path}#{n}"]
            self.search += [(n, page.title, f"{page.path}#{n}") for n in mine]
            anchors = "".join(f"<span id=\"{n}\"></span>" for n in mine[1:])
            first = f" id=\"{mine[0]}\"" if mine else ""
            code = html.escape(names[0] if found.kind == "macro" else member.code)
            out.append(f"<dt{first}>{anchors}<code>{code if listed else self.in_code(page, code)}</code></dt>"
                       f"<dd>{self.contract(page, member.comment)}</dd>")
        return f"<dl class=\"members {found.kind}\">" + "".join(out) + "</dl>"

    def in_code(self, page, code):
        return self.link_names(page, f"<code>{code}</code>").removeprefix("<code>").removesuffix("</code>")

    def prose(self, page, text):
        return self.link_names(page, self.comments.render(text), prose=True)

    def inline(self, page, text):
        return re.sub(r"^<p>|</p>\s*$", "", self.prose(page, text).strip())

    def add_headers_index(self):
        page = Page(HEADERS_INDEX, "Interface", "include/tenon")
        self.search.append(("Interface: all headers and names", "", page.path))
        out = ["<h1>Interface</h1>", "<p>One page for each header, with the contract of every function and type as the "
               "header states it. A program includes <code>&lt;tenon/tenon.h&gt;</code>, which brings all of "
               "<code>tenon/</code>; ports and core assignment have headers of their own.</p>"]
        for title, inside in (("The core", "include/"), ("Ports", "ports/"), ("Core assignment", "models/")):
            mine = [h for h in self.headers if h.name.startswith(inside)]
            rows = "".join(f"<tr><td><a href=\"{page.link(header_page(h.name))}\"><code>"
                           f"{h.name.removeprefix('include/')}</code></a></td><td>"
                           f"{self.inline(page, reader.summary(h.comment))}</td></tr>" for h in mine)
            rows += self.wrappers(page) if inside == "include/" else ""
            page.toc.append((2, title, links.slug(title)))
            out.append(f"<h2 id=\"{links.slug(title)}\">{title}</h2><div class=\"table\"><table>{rows}</table></div>")
        for kinds, title in ((("function",), "Functions"), (("struct", "enum", "union", "typedef"), "Types")):
            out.append(self.names_of(page, kinds, title))
        page.body = "\n".join(out)
        self.pages[page.path] = page

    def wrappers(self, page):
        """Headers for C++, which the reader of headers does not understand: they are shown as they are."""
        rows = ""
        for name in sorted(os.listdir(os.path.join(self.root, "include/tenon"))):
            if name.endswith(".hpp"):
                about = re.search(r"/\*\*\s*@file(.*?)\*/", self.read(f"include/tenon/{name}"), re.S)
                what = reader.summary(reader.clean(f"/**{about.group(1)}*/")) if about else ""
                rows += f"<tr><td><a href=\"{page.link(self.place(f'include/tenon/{name}'))}\"><code>tenon/{name}" \
                        f"</code></a></td><td>{self.inline(page, what)}</td></tr>"
        return rows

    def names_of(self, page, kinds, title):
        rows = {}
        for header in self.headers:
            for entry in header.entries:
                for found in entry.declarations:
                    if header.name.startswith("include/") and found.kind in kinds and found.name and entry.comment:
                        rows.setdefault(found.name, (found.title(), reader.summary(entry.comment)))
        body = "".join(f"<tr><td><a href=\"{page.link(self.names[name])}\"><code>{text}</code></a></td>"
                       f"<td>{self.inline(page, what)}</td></tr>" for name, (text, what) in sorted(rows.items()))
        page.toc.append((2, title, links.slug(title)))
        return f"<h2 id=\"{links.slug(title)}\">{title}</h2><div class=\"table names\"><table>{body}</table></div>"

    # ---- the manual, and files of the repository ---------------------------------------------------------

    def add_manual(self, path):
        done = subprocess.run(["mandoc", "-Thtml", "-Ofragment", os.path.join(self.root, path)], capture_output=True,
                              text=True, check=True)
        name, section = os.path.basename(path).rsplit(".", 1)
        page = Page(path + ".html", f"{name}({section})", path)
        self.search.append((f"{page.title}: manual", "", page.path))
        body = re.sub(r"<(/?)h1", r"<\1h2", done.stdout)
        for anchor, text in re.findall(r"<h2 class=\"Sh\" id=\"([^\"]+)\">(.*?)</h2>", body, re.S):
            title = reader.squeeze(plain(text)).capitalize()
            page.toc.append((2, title, anchor))
            self.search.append((title, page.title, f"{page.path}#{anchor}"))
        page.body, page.kind = f"<h1>{page.title}</h1>{body}", "manual"
        self.pages[page.path] = page

    def add_waiting(self):
        while self.waiting:
            path = self.waiting.pop()
            if path.endswith(".1"):
                self.add_manual(path)
            elif os.path.isdir(os.path.join(self.root, path)):
                self.add_folder(path)
            else:
                self.add_file(path)

    def add_folder(self, path):
        page = Page(f"{path}/index.html", path + "/", path)
        rows = []
        for name in sorted(os.listdir(os.path.join(self.root, path))):
            if name in links.SKIP:
                continue
            full = f"{path}/{name}"
            folder = os.path.isdir(os.path.join(self.root, full))
            label = html.escape(name + ("/" if folder else ""))
            rows.append(f"<li>{label}</li>" if folder and f"{full}/README.md" not in self.files else
                        f"<li><a href=\"{page.link(self.place(full))}\">{label}</a></li>")
        page.body = f"<h1><code>{html.escape(path)}/</code></h1><ul class=\"folder\">{''.join(rows)}</ul>"
        self.pages[page.path] = page

    def add_file(self, path):
        page = Page(path + ".html", path, path)
        text = self.read(path)
        try:
            lexer = get_lexer_for_filename(path, stripnl=False)
            coloured = highlight(text, lexer, HtmlFormatter(nowrap=True))
        except ClassNotFound:
            coloured = html.escape(text)
        lines = coloured.rstrip("\n").split("\n")
        width = len(str(len(lines)))
        body = "".join(f"<span id=\"L{n}\"><i>{n:{width}}</i>  {line}\n</span>" for n, line in enumerate(lines, 1))
        page.body = f"<h1><code>{html.escape(path)}</code></h1><pre class=\"source\"><code>{body}</code></pre>"
        page.kind = "source"
        self.pages[page.path] = page

    # ---- all of it -----------------------------------------------------------------------------------------

    def build(self):
        for header in self.headers:
            self.add_header(header)
            self.want(header.name)
        self.add_headers_index()
        for file in self.files.values():
            self.add_markdown(file)
        for folder in sorted(os.listdir(os.path.join(self.root, "docs/man"))):
            self.want(f"docs/man/{folder}")
        self.add_waiting()
        self.write()

    def write(self):
        clear(self.out)
        with open(os.path.join(HERE, "page.html"), encoding="utf-8") as f:
            template = string.Template(f.read())
        groups = contents(self.files[CONTENTS].text)
        groups = [(title, [(label, self.place(links.resolve(CONTENTS, target)[0]), sub)
                           for label, target, sub in entries]) for title, entries in groups]
        # What the contents call a page is often shorter than its title.
        self.search += [(label, "", path) for _, entries in groups for label, path, _ in entries
                        if (label, "", path) not in self.search]
        for page in self.pages.values():
            self.put(page.path, template.substitute(fill(page, groups)))
        for name in self.images:
            os.makedirs(os.path.join(self.out, os.path.dirname(name)), exist_ok=True)
            shutil.copyfile(os.path.join(self.root, name), os.path.join(self.out, name))
        for name in ASSETS:
            self.put("site/" + name, self.read(os.path.join(HERE, name)))
        self.put("site/code.css", style_sheet())
        # A script and not JSON: pages that are opened from a disk may load nothing else.
        self.put(INDEX, "var TENON_INDEX = " + json.dumps(self.search, separators=(",", ":")) + ";\n")

    def put(self, name, text):
        full = os.path.join(self.out, name)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as f:
            f.write(text)


def clear(folder):
    """Throws away an earlier site. What is no site stays."""
    if os.path.isdir(folder) and os.listdir(folder):
        if not os.path.exists(os.path.join(folder, INDEX)):
            raise OccupiedError(f"{folder} is no earlier site and not empty: name another folder, or remove it")
        shutil.rmtree(folder)


def header_page(name):
    return name[:-len(".h")] + ".html"


def constant(found, name):
    """Constants that a list of X(...) makes are named after the list: TENON_STATS gives TENON_STAT_..."""
    return f"{found.name.removesuffix('S')}_{name}" if found.kind == "macro" else name


def layout(code):
    """A declaration that is too long for a line, one parameter on each."""
    at = code.find("(")
    if len(code) <= 90 or at < 0 or not code.endswith(")"):
        return code
    out, depth = code[:at + 1] + "\n    ", 0
    for letter in code[at + 1:-1]:
        depth += (letter == "(") - (letter == ")")
        out += ",\n   " if letter == "," and depth == 0 else letter
    return out + ")"


def contents(text):
    """[(title, [(label, target, sub)])]: the headings of the table of contents, with the links of the first column of
    its tables, and of its lists. What stands behind a colon is part of what stands before it."""
    groups = [("", [])]
    for line in text.splitlines():
        heading = re.match(r"##\s+(.*)", line)
        if heading:
            groups.append((heading.group(1), []))
            continue
        first = line.split("|")[1] if line.startswith("|") else line if re.match(r"(\d+\.|-) ", line) else ""
        groups[-1][1].extend((m.group(2).replace("`", ""), m.group(3), ": " in first[:m.start()])
                             for m in links.LINK.finditer(first))
    return [group for group in groups if group[1]]


def fill(page, groups):
    """What the template asks for."""
    order = [entry for _, entries in groups for entry in entries]
    at = next((n for n, (_, path, _) in enumerate(order) if path == page.path), None)
    before = order[at - 1] if at else None
    after = order[at + 1] if at is not None and at + 1 < len(order) else None
    return {"title": html.escape(page.title), "root": os.path.relpath(".", os.path.dirname(page.path) or "."),
            "sidebar": sidebar(page, groups), "toc": toc(page), "body": page.body, "kind": page.kind,
            "source": html.escape(page.source), "before": step(page, before, "before", "←&nbsp;{}"),
            "after": step(page, after, "after", "{}&nbsp;→")}


def step(page, entry, name, form):
    return f"<a class=\"{name}\" href=\"{page.link(entry[1])}\">{form.format(html.escape(entry[0]))}</a>" \
        if entry else ""


def sidebar(page, groups):
    out = []
    for title, entries in groups:
        items = ""
        for label, path, sub in entries:
            current = CURRENT if path == page.path else ""
            items += f"<li{SUB if sub else ''}><a{current} href=\"{page.link(path)}\">{html.escape(label)}</a></li>"
        out.append(f"<h2>{html.escape(title)}</h2><ul>{items}</ul>" if title else f"<ul>{items}</ul>")
    return "\n".join(out)


def toc(page):
    if len(page.toc) < 2:
        return ""
    items = "".join(f"<li class=\"level{level}\"><a href=\"#{anchor}\">{html.escape(text)}</a></li>"
                    for level, text, anchor in page.toc)
    return f"<nav class=\"toc\" aria-label=\"On this page\"><h2>On this page</h2><ul>{items}</ul></nav>"


def style_sheet():
    """Colours of code, for light and dark."""
    light = HtmlFormatter(style=LIGHT).get_style_defs("pre")
    dark = HtmlFormatter(style=DARK).get_style_defs("pre")
    rules = "\n".join("@media " + ("(prefers-color-scheme: dark)" if sheet is dark else "(prefers-color-scheme: light)")
                      + " {\n" + "\n".join(line for line in sheet.splitlines() if line.startswith("pre .")) + "\n}"
                      for sheet in (light, dark))
    return rules + "\n"
