#!/usr/bin/env python3
"""Write the manual pages of section 3 from the comments of the public headers.

usage: functions.py SOURCE_DIR DEPFILE OUT_DIR [HTML_DIR]

SOURCE_DIR  the root of the source tree
DEPFILE     gets the files that the pages depend on, for ninja
OUT_DIR     gets a page for each comment, and an alias for each further name
HTML_DIR    gets the same reference as HTML

Doxygen reads the headers. A declaration with a comment has a page. Declarations
that follow it without a comment share the page: the nonblocking and persistent
forms of a collective, or constants. The comment of a section (@name) and of a
file (@file) holds for all functions of the section or file.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

from headers import CODE, declarations

NEAR = 6  # other pages of the header that SEE ALSO names
AROUND = 3  # lines of an example before and after the call
SHORT = 90  # characters of a description in NAME that are not cut
# The parameters and the result are those of another function, unless stated.
INHERITS = re.compile(r'(?:^|: )(?:[Aa]s|Nonblocking) (catena_\w+)')
ERROR = re.compile(r'(?:also )?(ERR_\w+)(?:: (.*)| \((.*)\)|)$')


def bold(line):
    return rf'\fB{line.translate(CODE)}\fP'


def code(lines):
    return '\n'.join(['.PP', '.in +4n', '.EX', *(
        '\\&' + line.translate(CODE) for line in lines), '.EE', '.in'])


def describe(comment):
    """The comment of a member, in one paragraph."""
    text = ' '.join(text for _, text in comment.blocks)
    return text + (f' Returns {comment.returns}.' if comment.returns else '')


def split(text):
    """The parts of a result: split at commas and semicolons outside of ()."""
    parts = re.findall(r'(?:\([^()]*(?:\([^()]*\)[^()]*)*\)|[^,;(])+', text)
    return [re.sub(r'^(?:or|and) ', '', part.strip()) for part in parts]


def excerpt(lines, at):
    """The lines around a call, with whole statements and blocks."""
    def inner(line):
        return line.startswith(' ')

    def balance():
        text = '\n'.join(lines[start:end])
        return text.count('{') - text.count('}')

    start, end = at, at + 1
    for _ in range(AROUND):
        start -= inner(lines[start - 1])
        end += inner(lines[end])
    while balance() < 0 or not re.search(r'[;{}]$|\*/$|^$', lines[start - 1]):
        start -= 1
    while balance() > 0 or not re.search(r'[;}]$|\*/$|^$', lines[end - 1]):
        end += 1
    return textwrap.dedent('\n'.join(lines[start:end])).split('\n')


class Page:
    """The page of a declaration and of those that share its comment."""

    def __init__(self, first):
        self.first = first
        self.all = [first]
        self.parent = None  # the page that it inherits from

    def names(self):
        return list(dict.fromkeys(
            name for declaration in self.all for name in declaration.names()))

    def comments(self):
        """Those that hold for this page, the most particular one first."""
        first = self.first
        found = [first.comment]
        if self.parent:
            found += self.parent.comments()
        if first.kind == 'function':
            found += [first.section[1]] if first.section else []
            found.append(first.file)
        return found

    def params(self):
        found = {}
        for comment in reversed(self.comments()):
            found.update(comment.params)
        order = [name for declaration in self.all
                 for name in declaration.params()]
        if self.first.kind != 'function':
            order = list(self.first.comment.params)
        return [(name, *found[name]) for name in dict.fromkeys(order)
                if name in found]

    def returns(self):
        texts = [comment.returns for comment in self.comments()
                 if comment.returns]
        if texts and texts[0].startswith('also ') and len(texts) > 1:
            return texts[1] + ', ' + texts[0]
        return texts[0] if texts else ''

    def plain(self):
        texts = [text for comment in self.comments()[:1]
                 for _, text in comment.blocks]
        texts += [text for _, _, text in self.params()]
        return ' '.join(texts + [self.returns()])


def pages_of(found):
    pages = []
    for declaration in found:
        comment = declaration.comment
        last = pages[-1].all[-1] if pages else None
        if comment.blocks or comment.params:
            pages.append(Page(declaration))
        elif last and (last.kind, last.header) == (declaration.kind,
                                                   declaration.header):
            pages[-1].all.append(declaration)
    return pages


class Writer:
    """Writes pages that refer to each other."""

    def __init__(self, source, pages):
        self.pages = pages
        self.owner = {name: page for page in pages for name in page.names()}
        self.headers = {path.name: path.read_text() for path in
                        (source / 'include/catena').glob('*.h')}
        self.version = re.search(r'VERSION_STRING "(.*)"',
                                 self.headers['version.h'])[1]
        self.errors = dict(self.owner['catena_status_t'].first.values)
        self.examples = sorted((source / 'docs/examples').glob('*.c'),
                               key=lambda path: path.stat().st_size)
        for page in pages:
            match = INHERITS.search(page.first.brief)
            if match and self.owner.get(match[1]) not in (None, page):
                page.parent = self.owner[match[1]]

    def text(self, page, text):
        """Lines of roff, with references to other pages."""
        def refer(match):
            name = match[1]
            other = self.owner.get(name)
            if other is None and not name.startswith('CATENA_'):
                return name
            # catena_config_t.oob and constants are not references to a page.
            there = (other not in (None, page) and name.startswith('catena_')
                     and not re.match(r'\.\w|\(', text[match.end():]))
            return rf'\fB\%{name}\fP' + ('(3)' if there else '')
        text = re.sub(r'(?<![A-Z_])(?=ERR_[A-Z])', 'CATENA_', text)
        text = re.sub(r'(?<![\\\w])((?:catena|CATENA)_\w*[A-Za-z0-9])\b(?!_)',
                      refer, text)
        return '\n'.join(
            r'\&' + line if line[0] in ".'" else line for line in
            textwrap.wrap(text, 78, break_on_hyphens=False,
                          break_long_words=False))

    def blocks(self, page, comment):
        """The text of a comment."""
        out = []
        for kind, text in comment.blocks:
            if kind == 'item':
                out.append('.IP \\(bu 2\n' + self.text(page, text))
            elif kind == 'code':
                out.append(code(text.split('\n')))
            else:
                out.append(('.PP\n' if out else '') + self.text(page, text))
        return '\n'.join(out)

    def tagged(self, page, rows):
        return '\n'.join(f'.TP\n{tag}\n' + self.text(page, text)
                         for tag, text in rows)

    def name(self, page):
        text = page.first.brief.rstrip('.')
        if len(text) > SHORT:
            text = re.split(r'[:;] (?![^(]*\))', text)[0]
        if not re.match(r'[A-Z]{2}|RMA', text):
            text = text[:1].lower() + text[1:]
        text = re.sub(r'\\f.', '', text)
        return f'{", ".join(page.names())} \\- {text}'

    def synopsis(self, page):
        header = self.headers[page.first.header]
        lines = [line for declaration in page.all
                 for line in declaration.synopsis(header)]
        library = 'catena-sim' if 'catena-sim`' in header else 'catena'
        link = f'cc program.c $(pkg-config --cflags --libs {library})'
        include = f'#include <catena/{page.first.header}>'
        return '\n'.join(['.nf', bold(include), '.PP', *map(bold, lines), '.PP',
                          bold(link), '.fi'])

    def result(self, page):
        """The sections RETURN VALUE and ERRORS."""
        text = page.returns()
        if not text.startswith('CATENA_OK,'):
            return [('RETURN VALUE', self.text(
                page, text[:1].upper() + text[1:].rstrip('.') + '.'))]
        rows, values = {}, ['CATENA_OK']
        for part in split(text)[1:]:
            match = ERROR.match(part)
            if not match:
                values.append(part)
                continue
            name = 'CATENA_' + match[1]
            detail = match[2] or match[3] or self.errors[name].blocks[0][1]
            rows[name] = '; '.join(filter(None, [rows.get(name), detail]))
        values[1:1] = ['an error listed below'] if rows else []
        found = [('RETURN VALUE', self.text(
            page, ', '.join(values[:-1]) + f' or {values[-1]}.'))]
        if rows:
            found.append(('ERRORS', self.tagged(page, [
                (bold(name), detail) for name, detail in rows.items()])))
        return found

    def example(self, page):
        for path in self.examples:
            lines = path.read_text().split('\n')
            for name in page.names():
                call = re.compile(rf'\b{name}\(')
                at = next((i for i, line in enumerate(lines)
                           if call.search(line)), None)
                if at is not None and page.first.kind == 'function':
                    return (f'From docs/examples/{path.name}:\n'
                            + code(excerpt(lines, at)))
        return ''

    def see_also(self, page):
        first = page.first
        same = [other for other in self.pages
                if other.first.header == first.header
                and other.first.kind == first.kind]
        at = same.index(page) if page in same else 0
        near = same[max(0, at - NEAR // 2):at + NEAR // 2 + 1]
        named = re.findall(r'catena_\w+', page.plain() + self.synopsis(page))
        users = [other for other in self.pages if other.first.kind == 'function'
                 and first.kind != 'function'
                 and re.search(rf'\b{first.name}\b', self.synopsis(other))]
        wanted = near + [self.owner[name] for name in named
                         if name in self.owner] + users[:NEAR]
        names = sorted({other.first.name for other in wanted if other != page})
        links = [rf'\fB\%{name}\fP(3)' for name in names] + [r'\fBcatena\fP(7)']
        see = [text for comment in page.comments() for text in comment.see]
        return '\n'.join(textwrap.wrap(', '.join(links), 78)) + ''.join(
            '\n.PP\n' + self.text(page, text) for text in dict.fromkeys(see))

    def sections(self, page):
        first = page.first
        yield 'NAME', self.name(page)
        yield 'SYNOPSIS', self.synopsis(page)
        text = self.blocks(page, first.comment)
        if first.section and first.section[1].blocks:
            title, comment = first.section
            text += f'\n.SS {title}\n' + self.blocks(page, comment)
        yield 'DESCRIPTION', text
        rows = [(rf'\fI{name}\fP' + (f' [{direction}]' if direction else '')
                 .replace('inout', 'in,out'), text)
                for name, direction, text in page.params()]
        if rows:
            yield 'PARAMETERS', self.tagged(page, rows)
        for declaration in page.all:
            rows = [(rf'\fB{name}\fP', describe(comment))
                    for name, comment in declaration.members()
                    if comment.blocks]
            if rows:
                yield 'MEMBERS', self.tagged(page, rows)
        if page.returns():
            yield from self.result(page)
        if first.kind == 'function' and first.file.blocks:
            yield 'NOTES', self.blocks(page, first.file)
        example = self.example(page)
        if example:
            yield 'EXAMPLE', example
        yield 'SEE ALSO', self.see_also(page)

    def write(self, out):
        seconds = int(os.environ.get('SOURCE_DATE_EPOCH', time.time()))
        date = time.strftime('%Y-%m-%d', time.gmtime(seconds))
        for page in self.pages:
            name = page.first.name
            text = (f'.TH {name} 3 {date} "catena {self.version}" catena\n'
                    '.nr HY 0\n.ad l\n')
            for title, body in self.sections(page):
                text += f'.SH {title}\n{body}\n'
            (out / f'{name}.3').write_text(text)
            for alias in page.names():
                if alias != name:
                    (out / f'{alias}.3').write_text(f'.so man3/{name}.3\n')


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    source, depfile, out = map(Path, sys.argv[1:4])
    html = Path(sys.argv[4]).absolute() if len(sys.argv) == 5 else None
    with tempfile.TemporaryDirectory() as work:
        settings = (source / 'docs/man/Doxyfile').read_text() + (
            f'INPUT = {source / "include/catena"}\nOUTPUT_DIRECTORY = {work}\n'
            + (f'HTML_OUTPUT = {html}\n' if html else 'GENERATE_HTML = NO\n'))
        subprocess.run(['doxygen', '-'], input=settings.encode(), check=True)
        pages = pages_of(declarations(Path(work) / 'xml'))
    inputs = [path for pattern in ('include/catena/*.h', 'docs/examples/*.c',
                                   'docs/man/Doxyfile', 'docs/man/headers.py')
              for path in source.glob(pattern)]
    depfile.write_text(f'{out}: {" ".join(map(str, inputs))}\n')
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    Writer(source, pages).write(out)


if __name__ == '__main__':
    main()
