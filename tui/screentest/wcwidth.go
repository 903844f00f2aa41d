package screentest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Wcwidth returns the cells of a rune as the C library counts them: none for marks,
// format characters and the vowels of Hangul, whatever stands before them.
func Wcwidth(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf), r >= 0x1160 && r <= 0x11ff, r >= 0xd7b0 && r <= 0xd7ff:
		return 0
	case r >= 0x1f1e6 && r <= 0x1f1ff: // half a flag
		return 1
	}
	return ansi.StringWidth(string(r))
}

// Counting is a terminal that counts the cells of text rune by rune, as tmux and
// many others do. It knows the sequences that Hindcast and Bubble Tea send and
// fails on all others. Colours are left out. It is for tests of widths; what a
// person sees is emulated with package vt.
type Counting struct {
	w, h, x, y int
	wrap       bool // whether a full row goes on in the next
	cells      [][]string
}

// NewCounting returns an empty one of w×h cells that wraps.
func NewCounting(w, h int) *Counting {
	c := &Counting{w: w, h: h, wrap: true, cells: make([][]string, h)}
	for y := range c.cells {
		c.cells[y] = make([]string, w)
		c.erase(y, 0, w)
	}
	return c
}

var control = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\x1b\[(\??)([0-9;]*)([A-Za-z])`) })

// Write draws what a program has written; a sequence must not be torn.
func (c *Counting) Write(p []byte) (int, error) {
	for i := 0; i < len(p); {
		if p[i] == '\x1b' {
			m := control().FindSubmatch(p[i:])
			if m == nil {
				return i, fmt.Errorf("unknown sequence %q", p[i:min(i+20, len(p))])
			}
			i += len(m[0])
			if err := c.obey(string(m[1]), string(m[2]), m[3][0]); err != nil {
				return i, err
			}
			continue
		}
		r, size := utf8.DecodeRune(p[i:])
		i += size
		switch r {
		case '\r':
			c.x = 0
		case '\n': // with a return, as the line discipline of a terminal adds it
			c.x = 0
			c.down()
		default:
			c.print(r)
		}
	}
	return len(p), nil
}

// obey does what a sequence says.
func (c *Counting) obey(private, text string, final byte) error {
	var n [2]int
	for i, s := range strings.SplitN(text, ";", 2) {
		n[i], _ = strconv.Atoi(s)
	}
	if private != "" {
		if text == "7" {
			c.wrap = final == 'h'
		}
		return nil
	}
	switch final {
	case 'm':
	case 'H':
		c.y, c.x = min(max(n[0]-1, 0), c.h-1), min(max(n[1]-1, 0), c.w-1)
	case 'G':
		c.x = min(max(n[0]-1, 0), c.w-1)
	case 'A':
		c.y = max(c.y-max(n[0], 1), 0)
	case 'X':
		x := min(c.x, c.w-1)
		c.erase(c.y, x, min(x+max(n[0], 1), c.w))
	case 'K':
		from, to := min(c.x, c.w-1), c.w
		if n[0] == 2 {
			from = 0
		}
		c.erase(c.y, from, to)
	case 'J':
		if n[0] == 2 {
			c.erase(0, 0, c.w)
		} else {
			c.erase(c.y, min(c.x, c.w-1), c.w)
		}
		for y := range c.h {
			if n[0] == 2 || y > c.y {
				c.erase(y, 0, c.w)
			}
		}
	default:
		return fmt.Errorf("unknown sequence CSI %s%c", text, final)
	}
	return nil
}

// print puts a rune where the cursor is.
func (c *Counting) print(r rune) {
	w := Wcwidth(r)
	if w == 0 {
		if c.x > 0 {
			x := c.x - 1
			for x > 0 && c.cells[c.y][x] == "" {
				x--
			}
			c.cells[c.y][x] += string(r)
		}
		return
	}
	if c.x+w > c.w {
		if !c.wrap {
			if w > 1 {
				return // as tmux does: it does not fit
			}
			c.x = c.w - 1
		} else {
			c.x = 0
			c.down()
		}
	}
	c.erase(c.y, c.x, c.x+w)
	c.cells[c.y][c.x] = string(r)
	for x := c.x + 1; x < c.x+w; x++ {
		c.cells[c.y][x] = "" // the right half
	}
	c.x += w
}

// erase empties cells, with the other halves of wide characters at both ends.
func (c *Counting) erase(y, from, to int) {
	row := c.cells[y]
	for from > 0 && row[from] == "" {
		from--
	}
	for to < c.w && row[to] == "" {
		to++
	}
	for x := from; x < to; x++ {
		row[x] = " "
	}
}

// down goes to the next row; at the last one all scroll.
func (c *Counting) down() {
	if c.y < c.h-1 {
		c.y++
		return
	}
	copy(c.cells, c.cells[1:])
	c.cells[c.h-1] = make([]string, c.w)
	c.erase(c.h-1, 0, c.w)
}

// At returns the text of a cell: "" in the right half of a wide character.
func (c *Counting) At(x, y int) string { return c.cells[y][x] }

// String returns the terminal's text, line by line.
func (c *Counting) String() string {
	var b strings.Builder
	for _, row := range c.cells {
		b.WriteString(strings.TrimRight(strings.Join(row, ""), " "))
		b.WriteByte('\n')
	}
	return b.String()
}
