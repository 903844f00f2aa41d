package report

import (
	"compress/gzip"
	"encoding/base64"
	"errors"
)

const (
	// rowsBegin and rowsEnd stand around the rows of the session, which Hindcast reads out of the page again. No text of
	// a session has them: they are HTML.
	rowsBegin, rowsEnd = `<script type="application/x-hindcast">`, `</script>`
	// mostRows bounds the states, together, of a session whose rows lie in its page.
	mostRows = 64 << 20
)

// writeRows writes the rows of the session, compressed, as data that no browser runs.
func (p *page) writeRows() error {
	size := int64(0)
	for i := range p.additions {
		size += p.additions[i].Size
	}
	if p.Rows == nil || size > mostRows {
		return nil
	}
	p.putHTML(rowsBegin)
	text := base64.NewEncoder(base64.StdEncoding, p)
	rows := gzip.NewWriter(text)
	err := p.Rows(rows)
	err = errors.Join(err, rows.Close(), text.Close())
	p.putHTML(rowsEnd)
	return err
}
