package keep

import (
	"bytes"
	"io"
	"slices"

	"hindcast/redact"
)

// maskSize is the number of bytes that are searched at once. The last maskReach of them are searched again with the bytes behind: no
// secret of known shape is longer.
const maskSize, maskReach = 4 << 20, 64 << 10

// masked is a content with letters in place of secrets. It has as many bytes.
type masked struct {
	of     content
	by     *redact.Redactor
	buf    []byte
	ready  int // how many bytes of buf go out
	from   int
	end    bool
	hidden int
}

// rewind implements content.
func (m *masked) rewind() error {
	m.buf, m.ready, m.from, m.end, m.hidden = m.buf[:0], 0, 0, false, 0
	return m.of.rewind()
}

// Read implements io.Reader.
func (m *masked) Read(p []byte) (int, error) {
	if m.from == m.ready {
		if m.end {
			return 0, io.EOF
		}
		if err := m.fillBuffer(); err != nil {
			return 0, err
		}
	}
	n := copy(p, m.buf[m.from:m.ready])
	m.from += n
	return n, nil
}

// fillBuffer reads on, and hides the secrets in the new bytes and in the bytes before.
func (m *masked) fillBuffer() error {
	if m.buf == nil {
		m.buf = make([]byte, 0, maskSize+maskReach)
	}
	m.buf = m.buf[:copy(m.buf, m.buf[m.ready:])]
	m.from = 0
	n, err := io.ReadFull(m.of, m.buf[len(m.buf):cap(m.buf)])
	if m.end = err == io.EOF || err == io.ErrUnexpectedEOF; err != nil && !m.end {
		return err
	}
	m.buf = m.buf[:len(m.buf)+n]
	m.hidden += m.by.Mask(m.buf)
	if m.ready = len(m.buf); !m.end {
		m.ready -= maskReach
	}
	return nil
}

// maskSecrets hides the secrets in the bytes of a file, as they are when it is kept without them.
func maskSecrets(data []byte) error {
	r, err := redact.New(redact.Options{})
	if err == nil {
		_, err = io.ReadFull(&masked{of: inMemory{bytes.NewReader(slices.Clone(data))}, by: r}, data)
	}
	return err
}

// inMemory is a content in memory.
type inMemory struct{ *bytes.Reader }

func (m inMemory) rewind() error {
	_, err := m.Seek(0, io.SeekStart)
	return err
}
