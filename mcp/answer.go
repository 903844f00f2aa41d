package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"hindcast/redact"
)

// mostAnswered bounds the bytes of an answer: behind it the page ends, and all else is cut short. mostText bounds the bytes of
// a text before that, and mostBehind of one behind it. mostBeside bounds the elements of a list beside the pages.
const mostAnswered, mostText, mostBehind, mostBeside = 24 << 10, 4 << 10, 120, 50

// hideSecrets returns a document of JSON without the secrets in it.
func hideSecrets(document []byte) ([]byte, error) {
	r, err := redact.New(redact.Options{})
	if err != nil {
		return nil, err
	}
	if err := r.Learn(document); err != nil {
		return nil, err
	}
	if err := r.FinishLearning(); err != nil {
		return nil, err
	}
	return r.State(document)
}

// page is the part of a list that an answer has.
type page struct {
	// list names the member of the document that is the list, "" for the document itself.
	list          string
	offset, limit int64
}

// cutter writes a document of JSON with less in it.
type cutter struct {
	bytes.Buffer
	in   *json.Decoder
	page page
	// next is the number of the first element behind the page, 0 where none follows.
	next int64
}

// cutToPage returns the page of a document. Its first bytes say where the next one begins, where there is more.
func cutToPage(document []byte, p page) (string, error) {
	c := &cutter{in: json.NewDecoder(bytes.NewReader(document)), page: p}
	c.in.UseNumber()
	if err := c.copyValue(0, p.list == ""); err != nil {
		return "", err
	}
	if c.next == 0 {
		return c.String(), nil
	}
	return fmt.Sprintf("There is more: ask again with offset %d.\n%s", c.next, c.String()), nil
}

// copyValue copies a value that is so deep in the document. pages says that a list is the one with the pages.
func (c *cutter) copyValue(depth int, pages bool) error {
	token, err := c.in.Token()
	if err != nil {
		return err
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '[' {
			return c.copyList(depth, pages)
		}
		return c.copyObject(depth)
	case string:
		c.writeText(t)
	default:
		text, err := json.Marshal(t)
		if err != nil {
			return err
		}
		c.Write(text)
	}
	return nil
}

// copyObject copies an object, behind its brace.
func (c *cutter) copyObject(depth int) error {
	c.WriteByte('{')
	left := 0
	for first := true; c.in.More(); first = false {
		key, err := c.in.Token()
		if err != nil {
			return err
		}
		if depth > 0 && c.Len() > mostAnswered+mostText {
			left++
			if err := c.passValue(); err != nil {
				return err
			}
			continue
		}
		if !first {
			c.WriteByte(',')
		}
		c.writeText(key.(string))
		c.WriteByte(':')
		if err := c.copyValue(depth+1, depth == 0 && key == c.page.list && c.page.list != ""); err != nil {
			return err
		}
	}
	if left > 0 {
		fmt.Fprintf(c, `,"…":"%d more"`, left)
	}
	c.WriteByte('}')
	_, err := c.in.Token()
	return err
}

// passValue passes over a value.
func (c *cutter) passValue() error {
	var passed json.RawMessage
	return c.in.Decode(&passed)
}

// copyList copies a list, behind its bracket.
func (c *cutter) copyList(depth int, pages bool) error {
	c.WriteByte('[')
	written, n := int64(0), int64(0)
	for ; c.in.More(); n++ {
		skips := written >= mostBeside || c.Len() > mostAnswered
		if pages {
			skips = n < c.page.offset || c.page.limit > 0 && written >= c.page.limit || written > 0 && c.Len() > mostAnswered
		}
		if skips {
			if err := c.passValue(); err != nil {
				return err
			}
			if pages && n >= c.page.offset && c.next == 0 {
				c.next = n
			}
			continue
		}
		if written > 0 {
			c.WriteByte(',')
		}
		if pages {
			c.WriteByte('\n')
		}
		written++
		if err := c.copyValue(depth+1, false); err != nil {
			return err
		}
	}
	if left := n - written; left > 0 && !pages {
		if written > 0 {
			c.WriteByte(',')
		}
		c.writeText(fmt.Sprintf("… %d more", left))
	}
	c.WriteByte(']')
	_, err := c.in.Token()
	return err
}

// writeText writes a text, cut to its bounds.
func (c *cutter) writeText(text string) {
	most := mostText
	if c.Len() > mostAnswered {
		most = mostBehind
	}
	if len(text) > most {
		end := most
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = fmt.Sprintf("%s… %d bytes more", text[:end], len(text)-end)
	}
	to := json.NewEncoder(&c.Buffer)
	to.SetEscapeHTML(false)
	_ = to.Encode(text) // a text and a buffer fail at nothing
	c.Truncate(c.Len() - 1)
}
