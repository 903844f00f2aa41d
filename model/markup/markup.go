// Package markup reads the markdown of messages into blocks and spans, for a pane, a page or a file to lay out.
//
// It reads CommonMark with the tables, task lists, strikes and bare links of GitHub, with four differences that suit
// transcripts. HTML, entities and link definitions are text, and stay as they are spelled. A line break in a paragraph
// stays a line break, with the indent after it. A table keeps the cells that its header has no column for. Containers
// deeper than maxDepth are text. So every letter and digit of a text is in its blocks.
//
// Reading takes time and memory in proportion to the text, whatever is in it.
package markup

import "strings"

// Kind is the kind of a block.
type Kind uint8

const (
	// Paragraph is text in Spans.
	Paragraph Kind = iota
	// Heading is a title in Spans, of Level 1 to 6.
	Heading
	// List holds blocks of the kind Item. It starts at Start if it is Ordered.
	List
	// Item is an item of a list; it holds Blocks.
	Item
	// Quote holds Blocks.
	Quote
	// Code is Text as it is written, in Language.
	Code
	// Table has Rows of cells, the first of them its header, and Aligns for its columns.
	Table
	// Rule is a line across.
	Rule
)

// Block is a part of a text with lines of its own.
type Block struct {
	Kind  Kind
	Level int

	Spans  []Span
	Blocks []Block

	// Text of a Code block ends without a line break.
	Text string
	// Language is the first word after a fence, in lower case; "" without one.
	Language string
	// Label is all that is written after a fence, or the bullet or number of an Item.
	Label string
	// Continued says that a Code block begins in the part before; see Parts.
	Continued bool

	Ordered bool
	Start   int
	// Loose says that blank lines part the items of a list.
	Loose bool
	Task  Task

	Aligns []Align
	Rows   [][]Cell
}

// Cell is the text of a cell of a table.
type Cell []Span

// Task says whether an item is a task, and whether it is done.
type Task uint8

// NoTask is an item without a box.
const (
	NoTask Task = iota
	OpenTask
	DoneTask
)

// Align is the side to which a column leans.
type Align uint8

// AnySide is a column that says nothing.
const (
	AnySide Align = iota
	LeftSide
	RightSide
	Middle
)

// Style is a set of styles.
type Style uint8

const (
	// Strong text has more weight.
	Strong Style = 1 << iota
	// Emphasis is stressed text.
	Emphasis
	// Strike is text that is crossed out.
	Strike
	// Literal text is code.
	Literal
	// Image is the description of a picture that lies at Link.
	Image
)

// Span is text of one style. Text may have line breaks, and may be "" where there is a link.
type Span struct {
	Text  string
	Style Style
	// Link is nil for a text that leads nowhere. The spans of one link share it.
	Link *Link
}

// Link is where a span leads, and a word about it, as they are spelled.
type Link struct{ To, Title string }

// Targets returns where the links of spans lead, and the word about each, by the last span of the link: what follows
// its text where the text alone is seen. Links whose text is their target are left out. It is nil without any.
func Targets(spans []Span) map[int]string {
	var targets map[int]string
	ends, texts := map[*Link]int{}, map[*Link]string{}
	for i, s := range spans {
		if s.Link != nil {
			ends[s.Link] = i
			texts[s.Link] += s.Text
		}
	}
	for link, i := range ends {
		if link.To == texts[link] && link.Title == "" {
			continue
		}
		if targets == nil {
			targets = map[int]string{}
		}
		targets[i] = strings.TrimSpace(link.To + " " + link.Title)
	}
	return targets
}

const (
	// maxDepth bounds quotes and lists inside each other.
	maxDepth = 16
	// maxColumns bounds the columns of a table.
	maxColumns = 64
	// maxTarget bounds the length of a link's target.
	maxTarget = 2048
	// maxSpans bounds the text whose styles are looked for at once.
	maxSpans = 32 << 10
	// maxPictures bounds pictures in the descriptions of pictures.
	maxPictures = 4
)
