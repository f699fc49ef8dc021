# SPDX-License-Identifier: MIT
"""Links and anchors: of the Markdown files in the repository, and of the pages that are made from them.

Nothing but Python is needed. Markdown is read as far as links go: headings, code (where nothing is a link), links,
images. Anchors are made as hosting sites make them."""
import os
import re
import urllib.parse

FENCE = re.compile(r"^( {0,3})(`{3,}|~{3,})[^\n]*\n(?:.*?\n)??(?: {0,3}\2[`~]*[ \t]*(?:\n|\Z)|\Z)", re.S | re.M)
CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.S)
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(\s*<?([^()\s<>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$", re.M)
ANCHOR = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"")
SKIP = {".git", "build", "dist", "__pycache__", ".pytest_cache", ".cache"}


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def slug(heading):
    """The anchor of a heading: what is no letter, digit, blank, - or _ goes, and blanks become -."""
    text = LINK.sub(r"\2", heading).replace("`", "")
    text = re.sub(r"[^\w\- ]", "", text.strip().lower())
    return text.replace(" ", "-")


def unique(anchor, used):
    """The anchor, with -1, -2, ... when it is there already."""
    made, number = anchor, 0
    while made in used:
        number += 1
        made = f"{anchor}-{number}"
    used.add(made)
    return made


class Markdown:
    """What of a Markdown file matters to links."""

    def __init__(self, name, text):
        self.name, self.text = name, text
        # Code is blanked, letter for letter, so that places stay what they are.
        prose = FENCE.sub(blank, text)
        bare = CODE.sub(lambda m: "`" * len(m.group(1)) + re.sub(r"[^\n]", "x", m.group(2)) + m.group(1), prose)
        self.links = [(m.group(3), bare.count("\n", 0, m.start()) + 1) for m in LINK.finditer(bare)]
        used = set()
        self.anchors = [unique(slug(m.group(2)), used) for m in HEADING.finditer(prose)]
        self.anchors += ANCHOR.findall(bare)


def markdown_files(root):
    out = []
    for path, dirs, names in os.walk(root):
        dirs[:] = sorted(d for d in dirs if d not in SKIP)
        for name in sorted(names):
            if name.endswith(".md"):
                full = os.path.join(path, name)
                with open(full, encoding="utf-8") as f:
                    out.append(Markdown(os.path.relpath(full, root).replace(os.sep, "/"), f.read()))
    return out


def is_external(target):
    return re.match(r"[a-z][a-z0-9+.-]*:", target) is not None


def resolve(page, target):
    """(path in the repository, anchor) of a link that stands in `page`."""
    path, _, anchor = target.partition("#")
    path = urllib.parse.unquote(path)
    full = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
    return full.replace(os.sep, "/"), urllib.parse.unquote(anchor)


def wrong(root, pages, page, target):
    """What is wrong with a link of the repository; None: nothing."""
    path, anchor = resolve(page, target)
    if path.startswith("../") or target.startswith("/"):
        return f"{target} leads out of the repository"
    if not os.path.exists(os.path.join(root, path)):
        return f"{target}: there is no {path}"
    if not anchor:
        return None
    line = re.fullmatch(r"L(\d+)(?:-L(\d+))?", anchor)
    if line and os.path.isfile(os.path.join(root, path)) and path not in pages:
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
            lines = sum(1 for _ in f)
        return None if int(line.group(2) or line.group(1)) <= lines else f"{target}: {path} has {lines} lines"
    if path not in pages:
        return f"{target}: only Markdown files have anchors"
    if anchor not in pages[path].anchors:
        return f"{target}: {path} has no heading for #{anchor}{nearest(anchor, pages[path].anchors)}"
    return None


def nearest(anchor, anchors):
    close = [a for a in anchors if anchor in a or a in anchor or a[:8] == anchor[:8]]
    return f" (there is #{close[0]})" if close else ""


def check_sources(root, files):
    """([(file, line, what is wrong)], number of links, [(file, line, address of the world outside)])"""
    pages = {f.name: f for f in files}
    found, outside, total = [], [], 0
    for file in files:
        for target, line in file.links:
            total += 1
            if is_external(target):
                outside.append((file.name, line, target))
                continue
            problem = wrong(root, pages, file.name, target)
            if problem:
                found.append((file.name, line, problem))
    return found, total, outside


def reached(files, start):
    """Names of the Markdown files to which links lead, from `start` on."""
    pages, seen, todo = {f.name: f for f in files}, set(), [start]
    while todo:
        name = todo.pop()
        name = name if name in pages else f"{name}/README.md"
        if name in seen or name not in pages:
            continue
        seen.add(name)
        todo += [resolve(name, target)[0] for target, _ in pages[name].links if not is_external(target)]
    return seen


def check_reach(files, contents):
    """Every guide stands in the table of contents, and every other page is reached from there."""
    pages = {f.name: f for f in files}
    if contents not in pages:
        return [(contents, 1, "the table of contents is missing")]
    direct = {resolve(contents, target)[0] for target, _ in pages[contents].links if not is_external(target)}
    seen = reached(files, contents)
    out = []
    for name in pages:
        if name.startswith("docs/") and name != contents and name not in direct:
            out.append((contents, 1, f"{name} has no row"))
        elif name not in seen:
            out.append((name, 1, f"no link leads here from {contents}, however many one follows"))
    return out


# ---- the pages that were made ---------------------------------------------------------------------------

ID = re.compile(r"<[a-zA-Z][^<>]*?\sid=\"([^\"]*)\"")
REFERENCE = re.compile(r"<([a-zA-Z]+)\s[^<>]*?\b(?:href|src)=\"([^\"]*)\"")


def check_site(folder):
    """([(page, 1, what is wrong)], number of pages, number of links) of a folder of HTML pages. Nothing but a link
    that a reader clicks may lead out of the folder: no page loads anything from elsewhere."""
    anchors, references = {}, {}
    for path, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".html"):
                full = os.path.join(path, name)
                with open(full, encoding="utf-8") as f:
                    text = f.read()
                page = os.path.relpath(full, folder).replace(os.sep, "/")
                anchors[page] = set(ID.findall(text))
                references[page] = REFERENCE.findall(text)
    found = [(page, 1, problem) for page, pairs in references.items() for tag, target in sorted(set(pairs))
             for problem in [wrong_here(folder, anchors, page, (tag, target))] if problem]
    return found, len(anchors), sum(len(pairs) for pairs in references.values())


def wrong_here(folder, anchors, page, reference):
    tag, target = reference
    if is_external(target) or target.startswith("//"):
        return None if tag == "a" else f"<{tag}> loads {target} from elsewhere"
    path, anchor = resolve(page, target.replace("&amp;", "&"))
    if path.startswith("..") or not os.path.isfile(os.path.join(folder, path)):
        return f"{target}: there is no {path}"
    if anchor and path in anchors and anchor not in anchors[path]:
        return f"{target}: {path} has no #{anchor}"
    return None
