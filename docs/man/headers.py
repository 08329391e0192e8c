"""Reads the comments and declarations of the public headers.

They come from the XML of Doxygen; the texts are returned as roff.
"""
import re
import textwrap
import xml.etree.ElementTree as ET
from pathlib import Path

ESCAPES = str.maketrans({'\\': r'\e', '^': r'\(ha', '~': r'\(ti', '`': r'\(ga'})
CODE = str.maketrans({'\\': r'\e', '^': r'\(ha', '~': r'\(ti', '`': r'\(ga',
                      "'": r'\(aq', '-': r'\-', '"': r'\(dq'})


def inline(element):
    """The text of an element, as roff."""
    text = (element.text or '').translate(ESCAPES)
    for child in element:
        if child.tag == 'computeroutput':
            code = ''.join(child.itertext())
            font = 'I' if re.fullmatch('[a-z_]+', code) else 'B'
            text += rf'\f{font}{code.translate(CODE)}\fP'
        else:
            text += inline(child)
        text += (child.tail or '').translate(ESCAPES)
    return ' '.join(text.split())


class Comment:
    """The comment of a declaration, a section or a file."""

    def __init__(self, *parts):
        self.blocks = []  # (kind, text), of the kinds text, item and code
        self.params = {}  # name: (direction, text)
        self.returns = ''
        self.see = []
        self.brief = True  # what follows a brief continues its paragraph
        for part in parts:
            for para in part if part is not None else ():
                self.paragraph(para)

    def paragraph(self, para):
        words = ET.Element('para')
        words.text = para.text
        for child in para:
            tail, child.tail = child.tail or '', None
            read = getattr(self, 'read_' + child.tag, None)
            if read:
                self.flush(words)
                read(child)
                words = ET.Element('para')
                words.text = tail
            else:
                child.tail = tail
                words.append(child)
        self.flush(words)

    def flush(self, words):
        text = inline(words)
        if not text:
            return
        if self.brief and [kind for kind, _ in self.blocks] == ['text']:
            self.blocks = [('text', f'{self.blocks[0][1]} {text}')]
            self.brief = False
        else:
            self.blocks.append(('text', text))

    def read_parameterlist(self, part):
        for item in part:
            text = inline(item.find('parameterdescription'))
            for name in item.iter('parametername'):
                self.params[name.text] = (name.get('direction'), text)

    def read_simplesect(self, part):
        if part.get('kind') == 'return':
            self.returns = inline(part)
        else:
            self.see.append(inline(part))

    def read_itemizedlist(self, part):
        self.blocks += [('item', inline(item)) for item in part]

    def read_verbatim(self, part):
        self.blocks.append(('code', part.text.strip('\n')))


class Declaration:
    """A function, a type, or a constant."""

    def __init__(self, element, header, section, file):
        place = element.find('location')
        self.kind = element.get('kind')
        self.header, self.section, self.file = header, section, file
        self.line = int(place.get('line'))
        self.start = int(place.get('bodystart', self.line))
        self.comment = Comment(element.find('briefdescription'),
                               element.find('detaileddescription'))
        self.brief = inline(element.find('briefdescription'))
        self.element = element
        self.values = [(value.findtext('name'), member_comment(value))
                       for value in element.findall('enumvalue')]
        self.name = (element.findtext('name')
                     or element.findtext('compoundname'))
        if self.name.startswith('@'):  # an enum without a name
            self.name = self.values[0][0]

    def params(self):
        return [name.text for name in self.element.findall('param/declname')]

    def names(self):
        names = [self.name] + [name for name, _ in self.values]
        return list(dict.fromkeys(names))

    def members(self):
        return self.values + [
            (member.findtext('name'), member_comment(member))
            for member in self.element.findall('sectiondef/memberdef')]

    def synopsis(self, header):
        """The declaration in the text of its header, without comments."""
        if self.kind == 'function':
            text = re.search(rf'CATENA_API ([^;]*\b{self.name}\([^;]*;)', header)
            text = ' '.join(text[1].replace('CATENA_NORETURN', '').split())
            # A line ends after a parameter only.
            text = text.replace('( ', '(').replace(' ', '\0').replace(',\0', ', ')
            return [line.replace('\0', ' ') for line in textwrap.wrap(
                text, 72, subsequent_indent='    ')]
        end = r'(?:[^\n]*\\\n)*[^\n]*\n' if self.kind == 'define' else (
            r'[^{;]*(?:\{.*?\}|\([^;]*)?[^;{}]*;')
        text = '\n'.join(header.split('\n')[self.start - 1:]) + '\n'
        text = re.sub(r'[ \t]*/\*.*?\*/', '', text, flags=re.S)
        text = re.match(end, text, flags=re.S)[0]
        text = re.sub(r' +\\\n', ' \\\\\n', text)
        return re.sub(r'\n\s*(?=\n)', '', text).strip().split('\n')


def member_comment(element):
    return Comment(element.find('briefdescription'),
                   element.find('detaileddescription'))


def declarations(xml):
    """All declarations, by header and line."""
    found = []
    for path in sorted(Path(xml).glob('*_8h.xml')):
        file = ET.parse(path).getroot().find('compounddef')
        header = file.findtext('compoundname')
        text = Comment(file.find('briefdescription'),
                       file.find('detaileddescription'))
        here = []
        for section in file.findall('sectiondef'):
            shared = None
            if section.find('header') is not None:
                shared = (section.findtext('header'),
                          Comment(section.find('description')))
            here += [Declaration(member, header, shared, text)
                     for member in section.findall('memberdef')]
        for inner in file.findall('innerclass'):
            struct = ET.parse(Path(xml) / (inner.get('refid') + '.xml'))
            here.append(Declaration(struct.getroot().find('compounddef'),
                                    header, None, text))
        found += sorted(here, key=lambda declaration: declaration.line)
    return found
