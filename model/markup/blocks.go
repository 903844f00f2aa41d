package markup

import (
	"strconv"
	"strings"
)

// Parse returns the blocks of a text.
func Parse(text string) []Block {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return parseLines(strings.Split(strings.TrimRight(text, "\n"), "\n"), 0)
}

// parseLines returns the blocks of lines that lie in depth containers.
func parseLines(lines []string, depth int) (blocks []Block) {
	for i := 0; i < len(lines); {
		b, n := parseBlock(lines[i:], depth)
		if n == 0 { // a blank line
			i++
			continue
		}
		blocks, i = append(blocks, b), i+n
	}
	return blocks
}

// parseBlock returns the block that begins at the first line, and how many lines it takes: 0 where that line is blank.
func parseBlock(lines []string, depth int) (Block, int) {
	line := lines[0]
	indent, rest := cutIndent(line)
	switch {
	case rest == "":
		return Block{}, 0
	case indent >= 4:
		return parseIndented(lines)
	}
	if f, ok := openingFence(line); ok {
		return parseFence(lines, f)
	}
	if b, ok := parseHeading(rest); ok {
		return b, 1
	}
	if isRule(rest) {
		return Block{Kind: Rule}, 1
	}
	if depth < maxDepth && rest[0] == '>' {
		return parseQuote(lines, depth)
	}
	if m, ok := itemMarker(line); ok && depth < maxDepth {
		return parseList(lines, m, depth)
	}
	if b, n := parseTable(lines, depth); n > 0 {
		return b, n
	}
	return parseParagraph(lines, depth)
}

// interrupts reports whether a line begins a block that no paragraph goes on over.
func interrupts(line string, depth int) bool {
	indent, rest := cutIndent(line)
	if rest == "" {
		return true
	}
	if indent >= 4 {
		return false
	}
	if depth < maxDepth {
		if rest[0] == '>' {
			return true
		}
		if m, ok := itemMarker(line); ok && m.text != "" && (!m.ordered || m.start == 1) {
			return true
		}
	}
	if _, ok := openingFence(line); ok {
		return true
	}
	_, heading := parseHeading(rest)
	return heading || isRule(rest)
}

// cutIndent returns the cells that a line is indented by, and the line without them and without spaces at its end.
func cutIndent(line string) (indent int, rest string) {
	for i := range len(line) {
		switch line[i] {
		case ' ':
			indent++
		case '\t':
			indent += 4 - indent%4
		default:
			return indent, strings.TrimRight(line[i:], " \t")
		}
	}
	return indent, ""
}

// stripIndent returns a line without up to n cells of its indent.
func stripIndent(line string, n int) string {
	for at := 0; at < n && line != ""; {
		switch line[0] {
		case ' ':
			at++
		case '\t':
			width := 4 - at%4
			if at += width; at > n {
				return strings.Repeat(" ", at-n) + line[1:]
			}
		default:
			return line
		}
		line = line[1:]
	}
	return line
}

// parseIndented returns a block of code without a fence.
func parseIndented(lines []string) (Block, int) {
	end := 0
	for i, line := range lines {
		indent, rest := cutIndent(line)
		if rest != "" && indent < 4 {
			break
		}
		if rest != "" {
			end = i + 1
		}
	}
	code := make([]string, end)
	for i, line := range lines[:end] {
		code[i] = stripIndent(line, 4)
	}
	return Block{Kind: Code, Text: strings.Join(code, "\n")}, end
}

// fence is a line of backticks or tildes around code.
type fence struct {
	mark   byte
	length int
	indent int
	label  string
}

// openingFence returns the fence that a line is.
func openingFence(line string) (f fence, ok bool) {
	indent, rest := cutIndent(line)
	if indent > 3 || len(rest) < 3 || rest[0] != '`' && rest[0] != '~' {
		return f, false
	}
	f = fence{mark: rest[0], indent: indent}
	for f.length < len(rest) && rest[f.length] == f.mark {
		f.length++
	}
	f.label = strings.TrimSpace(rest[f.length:])
	return f, f.length >= 3 && (f.mark == '~' || strings.IndexByte(f.label, '`') < 0)
}

// closedBy reports whether a line ends the code of a fence.
func (f fence) closedBy(line string) bool {
	indent, rest := cutIndent(line)
	return indent < 4 && len(rest) >= f.length && strings.Trim(rest, string(rune(f.mark))) == ""
}

// parseFence returns the code between a fence and the next like it, or the end of the lines.
func parseFence(lines []string, f fence) (Block, int) {
	b := Block{Kind: Code, Label: f.label}
	if words := strings.FieldsFunc(f.label, func(r rune) bool { return r == ' ' || r == '\t' || r == ',' || r == '{' || r == '}' }); len(words) > 0 {
		b.Language = strings.ToLower(strings.TrimPrefix(words[0], "."))
	}
	end := 1
	for end < len(lines) && !f.closedBy(lines[end]) {
		end++
	}
	code := make([]string, 0, end-1)
	for _, line := range lines[1:end] {
		code = append(code, stripIndent(line, f.indent))
	}
	b.Text = strings.Join(code, "\n")
	return b, min(end+1, len(lines))
}

// parseHeading returns the heading that a line without its indent is.
func parseHeading(rest string) (Block, bool) {
	level := 0
	for level < len(rest) && rest[level] == '#' {
		level++
	}
	if level == 0 || level > 6 || level < len(rest) && rest[level] != ' ' && rest[level] != '\t' {
		return Block{}, false
	}
	title := strings.TrimSpace(rest[level:])
	if open := strings.TrimRight(title, "#"); open == "" || strings.HasSuffix(open, " ") || strings.HasSuffix(open, "\t") {
		title = strings.TrimSpace(open)
	}
	return Block{Kind: Heading, Level: level, Spans: parseSpans(title)}, true
}

// isRule reports whether a line without its indent is a rule.
func isRule(rest string) bool {
	if rest == "" || strings.IndexByte("*-_", rest[0]) < 0 {
		return false
	}
	marks := 0
	for i := range len(rest) {
		switch rest[i] {
		case rest[0]:
			marks++
		case ' ', '\t':
		default:
			return false
		}
	}
	return marks >= 3
}

// parseParagraph returns a paragraph, or the heading that a line of = or - below it makes of it.
func parseParagraph(lines []string, depth int) (Block, int) {
	for n := 1; n < len(lines); n++ {
		indent, rest := cutIndent(lines[n])
		if indent < 4 && rest != "" {
			if level := strings.IndexByte("=-", rest[0]) + 1; level > 0 && strings.Trim(rest, rest[:1]) == "" {
				return Block{Kind: Heading, Level: level, Spans: parseSpans(joinLines(lines[:n]))}, n + 1
			}
		}
		if interrupts(lines[n], depth) || isTable(lines[n:]) {
			return Block{Spans: parseSpans(joinLines(lines[:n]))}, n
		}
	}
	return Block{Spans: parseSpans(joinLines(lines))}, len(lines)
}

// joinLines returns the text of a paragraph.
func joinLines(lines []string) string {
	kept := make([]string, len(lines))
	for i, line := range lines {
		kept[i] = strings.TrimRight(line, " \t")
	}
	return strings.TrimLeft(strings.Join(kept, "\n"), " \t")
}

// parseQuote returns the blocks of lines that begin with >, and of the lines that go on without it.
func parseQuote(lines []string, depth int) (Block, int) {
	var inside []string
	var open continuation
	for i, line := range lines {
		indent, rest := cutIndent(line)
		switch {
		case indent < 4 && strings.HasPrefix(rest, ">"):
			line = strings.TrimLeft(line, " \t")[1:]
			if line != "" && (line[0] == ' ' || line[0] == '\t') {
				line = stripIndent(line, 1)
			}
		case open.takes(line, depth):
			line = strings.TrimLeft(line, " \t")
		default:
			return Block{Kind: Quote, Blocks: parseLines(inside, depth+1)}, i
		}
		open.follow(line)
		inside = append(inside, line)
	}
	return Block{Kind: Quote, Blocks: parseLines(inside, depth+1)}, len(lines)
}

// continuation tells whether the last block in a container is a paragraph, which goes on in a line that lacks the
// container's mark.
type continuation struct {
	fence     *fence
	paragraph bool
}

// follow takes the next line of the container.
func (c *continuation) follow(line string) {
	_, rest := cutIndent(line)
	for rest != "" && rest[0] == '>' { // a paragraph of an inner quote
		_, rest = cutIndent(rest[1:])
	}
	switch f, ok := openingFence(rest); {
	case c.fence != nil:
		if c.fence.closedBy(rest) {
			c.fence = nil
		}
		c.paragraph = false
	case ok:
		c.fence, c.paragraph = &f, false
	default:
		_, heading := parseHeading(rest)
		c.paragraph = rest != "" && !heading && !isRule(rest)
	}
}

func (c *continuation) takes(line string, depth int) bool {
	return c.paragraph && !interrupts(line, depth)
}

// marker is the beginning of an item.
type marker struct {
	ordered bool
	mark    byte   // the bullet, or the sign after the number
	label   string // the bullet, or the number and the sign
	start   int
	width   int    // the cells before the text of the item
	text    string // the rest of the line
}

// itemMarker returns the marker that a line begins with.
func itemMarker(line string) (m marker, ok bool) {
	indent, rest := cutIndent(line)
	if indent > 3 || rest == "" || isRule(rest) {
		return m, false
	}
	digits := 0
	for digits < len(rest) && digits < 10 && '0' <= rest[digits] && rest[digits] <= '9' {
		digits++
	}
	switch {
	case digits == 0 && strings.IndexByte("-*+", rest[0]) >= 0:
		m.mark = rest[0]
	case digits > 0 && digits < 10 && digits < len(rest) && (rest[digits] == '.' || rest[digits] == ')'):
		m.ordered, m.mark = true, rest[digits]
		m.start, _ = strconv.Atoi(rest[:digits])
	default:
		return m, false
	}
	m.label = rest[:digits+1]
	column, after := indent+digits+1, rest[digits+1:]
	if strings.HasPrefix(after, "\t") { // its width depends on the column
		after = strings.Repeat(" ", 4-column%4) + after[1:]
	}
	space, text := cutIndent(after)
	switch {
	case text == "":
		m.width = column + 1
		return m, true
	case space == 0:
		return m, false
	case space > 4: // the item begins with indented code
		space = 1
	}
	m.width, m.text = column+space, stripIndent(after, space)
	return m, true
}

// joins reports whether an item with marker n is of the same list.
func (m marker) joins(n marker) bool { return m.ordered == n.ordered && m.mark == n.mark }

// parseList returns the list whose first item has marker m.
func parseList(lines []string, m marker, depth int) (Block, int) {
	list := Block{Kind: List, Ordered: m.ordered, Start: m.start}
	n := 0
	for {
		inside, taken := itemLines(lines[n:], m, depth)
		item := Block{Kind: Item, Label: m.label, Start: m.start}
		item.Task, inside[0] = cutTask(inside[0])
		item.Blocks = parseLines(inside, depth+1)
		list.Blocks, n = append(list.Blocks, item), n+taken
		if n == len(lines) {
			return list, n
		}
		next, ok := itemMarker(lines[n])
		if !ok || !m.joins(next) {
			return list, n
		}
		list.Loose = list.Loose || taken > 1 && inside[taken-1] == ""
		m = next
	}
}

// itemLines returns the lines of an item, and how many they are.
func itemLines(lines []string, m marker, depth int) (inside []string, n int) {
	var open continuation
	open.follow(m.text)
	inside = append(inside, m.text)
	for n = 1; n < len(lines); n++ {
		indent, rest := cutIndent(lines[n])
		line := ""
		switch {
		case rest == "":
			if n == 1 && m.text == "" { // an item begins with one blank line at most
				return inside, n
			}
		case indent >= m.width:
			line = stripIndent(lines[n], m.width)
		default:
			if _, next := itemMarker(lines[n]); next || !open.takes(lines[n], depth) {
				return inside, n
			}
			line = strings.TrimLeft(lines[n], " \t")
		}
		open.follow(line)
		inside = append(inside, line)
	}
	return inside, n
}

// cutTask returns the box of a task, and the line behind it.
func cutTask(line string) (Task, string) {
	if len(line) < 4 || line[0] != '[' || line[2] != ']' || line[3] != ' ' {
		return NoTask, line
	}
	switch line[1] {
	case ' ':
		return OpenTask, line[4:]
	case 'x', 'X':
		return DoneTask, line[4:]
	}
	return NoTask, line
}
