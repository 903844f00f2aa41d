package sqlitefile

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"hindcast/store/media/column"
)

// How many rows of one table are read
//
// The driver asks SQLite for the type and the value of each column, and each call takes
// a lock: of a row of eleven columns that is two thirds of the time. SQLite also gives a
// page of the file as a value (sqlite_dbpage), as the transaction sees it, the log
// included. So a long run of rows is cut from the pages of their table here, as "Database
// File Format" of SQLite's documentation describes them. Measured on 100,000 rows of
// eleven columns:
//
//	the driver's rows     107 ms, 10 allocations a row
//	concat_ws, one column  70 ms,  2, and the text is still to be taken apart
//	the pages              42 ms,  0.5, with the headers made of them
//
// A page that is not as it should be ends the reading: SQLite reads the rest, and finds
// the words for what is wrong.

// ErrPages: the pages of a table cannot be followed.
var ErrPages = errors.New("the pages cannot be followed")

// Keyed calls give with the rows of a table WITHOUT ROWID whose first column is key and
// whose second, an integer too, is greater than after: in their order, with all columns,
// the primary key first. The values are overwritten by the next row, the texts stay. After
// ErrPages there are more rows, behind the last one.
func (t *Tx) Keyed(ctx context.Context, table string, key, after int64, give func([]column.Value) error) error {
	r := reader{ctx: ctx, tx: t, key: key, after: after, give: give}
	var root uint32
	var encoding string
	var pages bool
	err := t.Row(ctx, "SELECT rootpage, sqlite_compileoption_used('ENABLE_DBPAGE_VTAB') FROM sqlite_schema WHERE type = 'table' AND name = ?", table).Scan(&root, &pages)
	if err == nil && !pages {
		return fmt.Errorf("%w: this build of SQLite returns none", ErrPages)
	}
	if err == nil {
		err = t.Row(ctx, "PRAGMA encoding").Scan(&encoding)
	}
	if err == nil {
		err = t.Row(ctx, "PRAGMA page_count").Scan(&r.left)
	}
	if err != nil {
		return err
	}
	if encoding != "UTF-8" {
		return fmt.Errorf("%w: the texts are %s", ErrPages, encoding)
	}
	first, err := r.fetch(1)
	if err != nil {
		return err
	}
	if r.usable = len(first[0]) - int(first[0][20]); r.usable < 480 {
		return errPage
	}
	_, err = r.walk(root, mostDepth)
	return err
}

// mostDepth bounds the levels of a table: 2^32 pages of two children each have fewer.
const mostDepth = 32

var errPage = fmt.Errorf("%w: one is damaged", ErrPages)

// reader reads one run of rows.
type reader struct {
	ctx        context.Context
	tx         *Tx
	key, after int64
	give       func([]column.Value) error
	// usable is how many bytes of a page are used, left how many pages there can be.
	usable, left int
	values       []column.Value
}

// fetch returns the text of pages.
func (r *reader) fetch(numbers ...uint32) ([]string, error) {
	if r.left -= len(numbers); r.left < 0 {
		return nil, errPage
	}
	list := []byte{'['}
	for i, n := range numbers {
		if i > 0 {
			list = append(list, ',')
		}
		list = strconv.AppendUint(list, uint64(n), 10)
	}
	pages := make([]string, 0, len(numbers))
	err := r.tx.Each(r.ctx, func(scan func(...any) error) error {
		var number uint32
		var page string
		if err := scan(&number, &page); err != nil {
			return err
		}
		if len(pages) == len(numbers) || number != numbers[len(pages)] || len(page) < max(r.usable, 512) {
			return errPage
		}
		pages = append(pages, page)
		return nil
	}, "SELECT p.pgno, p.data FROM json_each(?) AS n CROSS JOIN sqlite_dbpage AS p WHERE p.pgno = n.value", string(append(list, ']')))
	if err == nil && len(pages) != len(numbers) {
		err = errPage
	}
	return pages, err
}

// walk reads what a page and those below it have of the run, and reports whether the run
// ends there.
func (r *reader) walk(number uint32, depth int) (ended bool, err error) {
	pages, err := r.fetch(number)
	if err != nil {
		return false, err
	}
	return r.page(pages[0], depth)
}

// The kinds of pages.
const (
	pageInner = 2
	pageLeaf  = 10
)

func (r *reader) page(page string, depth int) (ended bool, err error) {
	cells := int(u16(page, 3))
	switch {
	case depth == 0 || 12+2*cells > r.usable:
		return false, errPage
	case page[0] == pageLeaf:
		for i := range cells {
			if ended, err = r.cell(page, int(u16(page, 8+2*i))); ended || err != nil {
				return ended, err
			}
		}
		return false, nil
	case page[0] != pageInner:
		return false, errPage
	}
	// The children that have some of the run; between them stand the rows of the cells.
	var children []uint32
	var between []int
	for i := range cells {
		at := int(u16(page, 12+2*i))
		if at+4 > r.usable {
			return false, errPage
		}
		place, err := r.place(page, at+4)
		if err != nil {
			return false, err
		}
		if place < 0 {
			continue
		}
		children, between = append(children, u32(page, at)), append(between, at+4)
		if ended = place > 0; ended {
			break
		}
	}
	if !ended {
		children = append(children, u32(page, 8))
	}
	below, err := r.fetch(children...)
	if err != nil {
		return false, err
	}
	for i, child := range below {
		if done, err := r.page(child, depth-1); done || err != nil {
			return done, err
		}
		if i < len(between) {
			if done, err := r.cell(page, between[i]); done || err != nil {
				return done, err
			}
		}
	}
	return ended, nil
}

// place returns whether the row at a place of a page comes before the run, is in it or
// comes behind it, as a number below, equal to or above 0.
func (r *reader) place(page string, at int) (int, error) {
	_, local, _, err := r.payload(page, at)
	if err == nil {
		err = r.columns(local, 2)
	}
	if err != nil {
		return 0, err
	}
	if r.values[0].Kind != column.Integer || r.values[1].Kind != column.Integer {
		return 0, errPage
	}
	switch session := r.values[0].Int; {
	case session < r.key || session == r.key && r.values[1].Int <= r.after:
		return -1, nil
	case session > r.key:
		return 1, nil
	}
	return 0, nil
}

// cell calls give with a row, if it is in the run.
func (r *reader) cell(page string, at int) (ended bool, err error) {
	place, err := r.place(page, at)
	if place != 0 || err != nil {
		return place > 0, err
	}
	size, text, more, err := r.payload(page, at)
	if err == nil && len(text) < size {
		text, err = r.overflow(size, text, more)
	}
	if err == nil {
		err = r.columns(text, math.MaxInt)
	}
	if err != nil {
		return false, err
	}
	// What goes in a circle does not ascend: the next row has to be behind this one.
	r.after = r.values[1].Int
	return false, r.give(r.values)
}

// overflow returns a row that begins with text and goes on on other pages.
func (r *reader) overflow(size int, text string, more uint32) (string, error) {
	row := []byte(text)
	for len(row) < size {
		next, err := r.fetch(more)
		if err != nil {
			return "", err
		}
		row = append(row, next[0][4:min(r.usable, 4+size-len(row))]...)
		more = u32(next[0], 0)
	}
	return string(row), nil
}

// payload returns the size of a row, what of it is on its page, and the page on which it
// goes on.
func (r *reader) payload(page string, at int) (size int, local string, more uint32, err error) {
	n, at := varint(page, at)
	most, least := (r.usable-12)*64/255-23, (r.usable-12)*32/255-23
	if n > math.MaxInt32 || at < 0 {
		return 0, "", 0, errPage
	}
	size = int(n)
	here := size
	if size > most {
		if here = least + (size-least)%(r.usable-4); here > most {
			here = least
		}
		if at+here+4 > r.usable {
			return 0, "", 0, errPage
		}
		more = u32(page, at+here)
	}
	if at+here > r.usable {
		return 0, "", 0, errPage
	}
	return size, page[at : at+here], more, nil
}

// columns reads the first columns of a row.
func (r *reader) columns(text string, most int) error {
	r.values = r.values[:0]
	head, at := varint(text, 0)
	if at < 0 || head > uint64(len(text)) {
		return errPage
	}
	body := int(head)
	for at < int(head) && len(r.values) < most {
		var kind uint64
		if kind, at = varint(text, at); at < 0 {
			return errPage
		}
		size := sizeOf(kind)
		if size > len(text)-body {
			return errPage
		}
		r.values = append(r.values, value(kind, text[body:body+size]))
		body += size
	}
	if len(r.values) < 2 {
		return errPage
	}
	return nil
}

// sizeOf returns how many bytes a value of a serial type has.
func sizeOf(kind uint64) int {
	switch {
	case kind >= 12:
		return int(min((kind-12)/2, math.MaxInt32))
	case kind == 5:
		return 6
	case kind == 6 || kind == 7:
		return 8
	case kind < 5:
		return int(kind)
	}
	return 0
}

// value returns the value of a serial type.
func value(kind uint64, text string) column.Value {
	switch {
	case kind >= 12 && kind%2 == 1:
		return column.Value{Kind: column.Text, Text: text}
	case kind >= 12:
		return column.Value{Kind: column.Blob}
	case kind == 7:
		return column.Value{Kind: column.Float}
	case kind == 8 || kind == 9:
		return column.Value{Kind: column.Integer, Int: int64(kind - 8)}
	case kind == 0 || len(text) == 0:
		return column.Value{}
	}
	n := int64(int8(text[0]))
	for i := 1; i < len(text); i++ {
		n = n<<8 | int64(text[i])
	}
	return column.Value{Kind: column.Integer, Int: n}
}

// varint returns the number at a place and the place behind it, -1 for none.
func varint(text string, at int) (n uint64, end int) {
	for i := range 9 {
		if at+i >= len(text) || at < 0 {
			return 0, -1
		}
		b := text[at+i]
		if i == 8 {
			return n<<8 | uint64(b), at + 9
		}
		if n = n<<7 | uint64(b&0x7f); b < 0x80 {
			return n, at + i + 1
		}
	}
	return 0, -1
}

func u16(page string, at int) uint16 { return uint16(page[at])<<8 | uint16(page[at+1]) }
func u32(page string, at int) uint32 { return uint32(u16(page, at))<<16 | uint32(u16(page, at+2)) }
