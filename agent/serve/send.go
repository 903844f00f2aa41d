package serve

import (
	"bufio"
	"net/http"
	"time"
)

// chunk is how much of an answer is sent at a time.
const chunk = 64 << 10

// sendAnswer sends an answer. Its beginning may have been sent when write fails: then
// the connection is cut, so that the client does not take what came for the whole.
func (h *Handler) sendAnswer(w http.ResponseWriter, write result) {
	w.Header().Set("Content-Type", "application/json")
	p := &patient{w: w, control: http.NewResponseController(w), timeout: h.writeTimeout}
	out := bufio.NewWriterSize(p, chunk)
	err := write(out)
	if err == nil {
		err = out.Flush()
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
		// Where none can be set, as in a test without a network, no client is held.
		// The server drops it when the request is over.
		_ = p.control.SetWriteDeadline(time.Now().Add(p.timeout))
		n, err := p.w.Write(part)
		written += n
		if err != nil {
			return written, err
		}
		data = data[n:]
	}
	return written, nil
}
