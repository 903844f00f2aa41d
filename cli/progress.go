package cli

import (
	"fmt"
	"io"
	"iter"
	"strings"

	"hindcast/model"
	"hindcast/store"
)

// progress is a line on the terminal that says how far an import, an export or a report has come. Each time it is
// written over the last one, and in the end it goes.
type progress struct {
	out  io.Writer
	done *tally
	// rows and bytes came since it was last written, of so many bytes in all.
	rows, bytes int
	total       int64
	// wide is how many cells the line takes.
	wide int
}

// progressRows and progressBytes are after how many rows, or bytes of their states, the
// line is written anew: a few times a second.
const (
	progressRows  = 5_000
	progressBytes = 16 << 20
)

// watchRows returns the rows, and shows how many came by.
func (p *progress) watchRows(rows iter.Seq2[store.Row, error]) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		for row, err := range rows {
			p.addSnapshot(len(row.State))
			if !yield(row, err) {
				return
			}
		}
	}
}

// addSnapshot counts one more snapshot, whose state has size bytes.
func (p *progress) addSnapshot(size int) {
	if p.rows, p.bytes = p.rows+1, p.bytes+size; p.rows < progressRows && p.bytes < progressBytes {
		return
	}
	p.total += int64(p.bytes)
	p.rows, p.bytes = 0, 0
	line := model.Count(p.done.Snapshots, "snapshot") + " of " + model.Count(p.done.Sessions, "session") + ", "
	p.writeLine(string(model.AppendSize([]byte(line), p.total)))
}

// stageRows is after how many rows of a stage the line is written anew.
const stageRows = 1_000

// showStage shows how far a stage is, at its beginning, at its end and now and then.
func (p *progress) showStage(name, unit string, done, all int) {
	if all < stageRows || done%stageRows != 0 && done != all && done != 1 {
		return
	}
	p.writeLine(fmt.Sprintf("%s %d of %s", name, done, model.Count(all, unit)))
}

// writeLine writes over the line. An error is of no consequence: nothing is lost with it.
func (p *progress) writeLine(line string) {
	_, _ = fmt.Fprintf(p.out, "\r%s%s", line, strings.Repeat(" ", max(p.wide-len(line), 0)))
	p.wide = len(line)
}

// clearLine takes the line away.
func (p *progress) clearLine() {
	if p.wide > 0 {
		p.writeLine("")
		_, _ = fmt.Fprint(p.out, "\r")
	}
}
