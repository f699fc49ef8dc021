# SPDX-License-Identifier: MIT
"""Reads headers that are written as STYLE.md says: what is declared, and the comment that belongs to it.

A comment that begins with two stars belongs to the declaration below it, and to those that follow that one without a
blank line between; one that begins with a "<" behind the stars to the declaration or member before it. Dividers
("---- opening ----") begin a section. Nothing but Python is needed, so that the check runs everywhere."""
import re

TOKEN = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
                   r"|[{}()\[\];,]|[^/\"'{}()\[\];,]+|.", re.S)
DIVIDER = re.compile(r"/\*\s*-{3,}\s*(.*?)\s*-{3,}\s*\*/", re.S)
ATTRIBUTE = re.compile(r"\b(?:TENON_API|TENON_INLINE|static|inline|extern)\b\s*|__attribute__\s*\(\(.*?\)\)\)?\s*")
LIST_ROW = re.compile(r"X\((\w+),\s*\"([^\"]*)\",\s*\"([^\"]*)\"\)")


class Member:
    """A field of a struct, or a constant of an enum."""

    def __init__(self, code, comment):
        self.code = squeeze(code)
        self.comment = comment
        pointer = re.search(r"\(\*(\w+)\)", self.code)
        plain = re.findall(r"(\w+)(?:\[[^\]]*\])*(?=\s*(?:,|$|:))", self.code.split("=")[0].strip())
        self.names = [pointer.group(1)] if pointer else plain


class Declaration:
    def __init__(self, kind, name, code, line):
        self.kind, self.name, self.code, self.line = kind, name, code, line
        self.members = []

    def title(self):
        return {"function": f"{self.name}()", "struct": f"struct {self.name}", "union": f"union {self.name}",
                "enum": f"enum {self.name}"}.get(self.kind, self.name)


class Entry:
    """One comment, and the declarations that share it."""

    def __init__(self, section, comment, first):
        self.section, self.comment, self.declarations = section, comment, [first]


class Header:
    def __init__(self, name, text):
        self.name, self.comment, self.entries = name, "", []
        read(self, text)

    def declarations(self):
        return [d for e in self.entries for d in e.declarations]


def squeeze(code):
    return re.sub(r"\s+", " ", code).strip()


def clean(comment):
    """The text of a comment, without the stars."""
    body = re.sub(r"^/\*\*?<?|\*/$", "", comment.strip()).split("\n")
    out = [body[0].strip()]
    for line in body[1:]:
        starred = re.match(r"\s*\*(?!\*) {0,2}(.*)$", line)
        out.append(starred.group(1).rstrip() if starred else line.strip())
    return "\n".join(out).strip("\n")


def summary(comment):
    """The first sentence."""
    text = squeeze(re.split(r"\n\s*\n|(?:^|\s)@", comment.strip(), maxsplit=1)[0])
    return re.split(r"(?<=[.:])\s+(?=[A-Z`])", text, maxsplit=1)[0].rstrip(":")


def contract(comment):
    """(text, [(parameter, text)], text of @return)"""
    parts = re.split(r"(?:^|(?<=\s))@(param(?:\[(?:in|out|in,out)\])?|return)\s+", comment)
    text, params, returns = parts[0].rstrip(), [], ""
    for tag, body in zip(parts[1::2], parts[2::2]):
        if tag == "return":
            returns = body.rstrip()
        else:
            name, _, rest = body.partition(" ")
            params.append((name.strip() + (" (out)" if "out" in tag else ""), squeeze(rest)))
    return text, params, returns


def members(body, separator):
    """The pieces of a struct's or enum's body, each with its comment."""
    out, code, before, depth = [], "", "", 0
    for match in TOKEN.finditer(body):
        token = match.group(0)
        if token.startswith("/**<") and not code.strip():
            if out:
                out[-1].comment = join(out[-1].comment, clean(token))
        elif token.startswith("/**"):
            before = join(before, clean(token))
        elif token == separator and depth == 0:
            out.append(Member(code, before))
            code = before = ""
        elif not token.startswith(("/*", "//")):
            depth += (token in "{([") - (token in "})]")
            code += token
    code = re.sub(r"^\s*\w+\(\w+\)\s*", "", code)
    if code.strip():
        out.append(Member(code, before))
    return out


def join(one, other):
    return f"{one}\n{other}" if one else other


def declaration(code, line):
    """What a piece of text up to its ';' or the body of a function declares; None: nothing."""
    code = ATTRIBUTE.sub("", code).strip()
    tagged = re.match(r"(struct|union|enum)\s*(\w*)\s*(\{|;|$)", code)
    if code.startswith("typedef"):
        return Declaration("typedef", re.findall(r"\w+", code)[-1], squeeze(code), line)
    if tagged and tagged.group(3) == "{":
        found = Declaration(tagged.group(1), tagged.group(2), squeeze(code[:code.index("{")]), line)
        found.members = members(code[code.index("{") + 1:code.rindex("}")], "," if found.kind == "enum" else ";")
        return found
    if tagged:
        return Declaration(tagged.group(1), tagged.group(2), squeeze(code), line)
    function = re.match(r"[^(=]*?(\w+)\s*\(", code)
    if function:
        return Declaration("function", function.group(1), squeeze(code), line)
    names = re.findall(r"(\w+)(?:\[[^\]]*\])*\s*(?:=.*)?$", code, re.S)
    return Declaration("object", names[-1], squeeze(code), line) if names else None


def macro(text, line):
    found = re.match(r"#\s*define\s+(\w+)(\([^)]*\))?[ \t]*(.*)", text, re.S)
    if found is None or found.group(1).endswith("_H"):
        return None
    made = Declaration("macro", found.group(1), "", line)
    made.members = [Member(row[0], row[2]) for row in LIST_ROW.findall(text)]
    value = "" if "\n" in found.group(3) or made.members else " " + found.group(3).strip()
    made.code = f"#define {found.group(1)}{found.group(2) or ''}{value}".rstrip()
    return made


def pieces(text):
    """(kind, text, line, whether a blank line is before it): comments, directives and declarations of the top level."""
    at = 0
    while True:
        blank = re.compile(r"\s*").match(text, at)
        at = blank.end()
        if at >= len(text):
            return
        gap, line = blank.group(0).count("\n") > 1, text.count("\n", 0, at) + 1
        kind, end = piece_end(text, at)
        yield kind, text[at:end], line, gap
        at = end


def piece_end(text, at):
    if text.startswith("/*", at):
        return "comment", text.index("*/", at) + 2
    if text[at] == "#":
        return "directive", re.compile(r"(?:\\\n|/\*.*?\*/|[^\n])*", re.S).match(text, at).end()
    frame = re.compile(r'extern "C" \{|TENON_(?:BEGIN|END)_DECLS\b|\}').match(text, at)
    if frame:
        return "frame", frame.end()
    depth = 0
    for match in TOKEN.finditer(text, at):
        token = match.group(0)
        depth += (token in ("{", "(", "[")) - (token in ("}", ")", "]"))
        if depth == 0 and token == ";":
            return "declaration", match.end()
        if depth == 0 and token == "}" and is_body(text[at:match.end()]):
            return "body", match.end()
    return "declaration", len(text)


def is_body(code):
    head = re.sub(r"/\*.*?\*/", "", code, flags=re.S).split("{")[0]
    return "(" in head and "=" not in head


def read(header, text):
    section, comment, seen = "", "", set()
    for kind, piece, line, gap in pieces(text):
        divider = DIVIDER.match(piece) if kind == "comment" else None
        if divider:
            section, comment = squeeze(divider.group(1)), ""
        elif kind == "comment" and piece.startswith("/**<"):
            if header.entries and not header.entries[-1].comment:
                header.entries[-1].comment = clean(piece)
        elif kind == "comment" and "@file" in piece:
            header.comment = clean(piece.replace("@file", "", 1)).lstrip()
        elif kind == "comment":
            comment = clean(piece) if piece.startswith("/**") else ""
        elif kind != "frame":
            found = macro(piece, line) if kind == "directive" else \
                declaration(piece.split("{")[0] if kind == "body" else piece.rstrip(";"), line)
            if found and (found.kind, found.name or line) not in seen:
                entry = Entry(section, comment, found)
                if kind != "directive" or comment:
                    place(header, entry, gap)
                    if not is_announcement(entry):
                        seen.add((found.kind, found.name or line))
                comment = ""
            elif found:
                comment = ""


def place(header, entry, gap):
    """A declaration right below another, and without a comment of its own, shares that one's."""
    last = header.entries[-1] if header.entries else None
    if last and not gap and not is_announcement(entry) and not entry.comment and last.comment \
            and last.section == entry.section:
        last.declarations += entry.declarations
    else:
        header.entries.append(entry)


def is_announcement(entry):
    """`struct tenon;` alone, because a header needs the name and another one explains it."""
    return not entry.comment and all(d.kind in ("struct", "union") and not d.members for d in entry.declarations)


def uncommented(headers):
    """(header, declaration) of all that has no comment. The announcement of a struct ("struct tenon;") needs none if
    another place explains it."""
    explained = {d.name for h in headers for e in h.entries for d in e.declarations if e.comment or d.members}
    for header in headers:
        for entry in header.entries:
            for found in entry.declarations:
                announced = found.kind in ("struct", "union") and not found.members and found.name in explained
                if not entry.comment and not announced:
                    yield header, found
