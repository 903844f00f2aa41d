package reflection

import (
	"bufio"
	"errors"
	"net/http"
	"time"
)

// chunk is how much of an answer is sent at a time.
const chunk = 64 << 10

// send sends an answer. Its beginning may have been sent when write fails: then
// the connection is cut, so that nobody takes what came for the whole.
func (h *Handler) send(w http.ResponseWriter, write result) {
	w.Header().Set("Content-Type", "application/json")
	p := &patient{w: w, control: http.NewResponseController(w), timeout: h.writeTimeout}
	out := bufio.NewWriterSize(p, chunk)
	err := write(out)
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = p.finish()
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

// patient writes to a client as long as the client takes it: each chunk has a
// deadline of its own, so that a large answer may take its time and a client
// that is gone may not.
type patient struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

func (p *patient) Write(data []byte) (written int, err error) {
	for len(data) > 0 {
		part := data[:min(len(data), chunk)]
		p.deadline(time.Now().Add(p.timeout))
		n, err := p.w.Write(part)
		written += n
		if err != nil {
			return written, err
		}
		data = data[n:]
	}
	return written, nil
}

// finish sends what is still buffered, and leaves no deadline to the next
// request on the connection.
func (p *patient) finish() error {
	p.deadline(time.Now().Add(p.timeout))
	err := p.control.Flush()
	p.deadline(time.Time{})
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// deadline sets the deadline of the connection; where there is none, as in a
// test without a network, nothing can be held.
func (p *patient) deadline(at time.Time) { _ = p.control.SetWriteDeadline(at) }
