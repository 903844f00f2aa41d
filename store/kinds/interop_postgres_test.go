package kinds_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/kinds"
	"hindcast/store/media/pg/pgtest"
	"hindcast/store/storetest"
)

// asked is a program that answers questions, each a line.
type asked struct {
	in      *json.Encoder
	answers *json.Decoder
}

// serve has LangGraph answer questions about a database until the test ends.
func (g graphs) serve(t *testing.T, address string) asked {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), g.python, g.program, "serve", address)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return asked{json.NewEncoder(in), json.NewDecoder(bufio.NewReader(out))}
}

// thinks returns what LangGraph thinks of a checkpoint of a thread, or of its newest.
func (a asked) thinks(t *testing.T, session, thread, id string) (told thinks) {
	t.Helper()
	at := map[string]string{"thread_id": thread}
	if id != "" {
		at["checkpoint_id"] = id
	}
	err := a.in.Encode([]any{"thinks", session, map[string]any{"configurable": at}})
	if err == nil {
		err = a.answers.Decode(&told)
	}
	if err != nil {
		t.Fatal(err)
	}
	return told
}

// inPostgres has LangGraph write a database, and compares what it thinks of each checkpoint with what
// Hindcast shows, and with what it thinks of the thread once Hindcast put it back there, or forked it.
func (g graphs) inPostgres(t *testing.T) {
	c := pgtest.SharedCluster(t)
	address := c.Database(t)
	g.says(t, "write", address, nil, nil)
	places := placesIn(t, address)
	if len(places) < 70 {
		t.Errorf("%d places", len(places))
	}
	before := c.Rows(t, address)
	g.tell(t, address, places)
	g.run(t, address, slices.DeleteFunc(slices.Clone(places), func(p reached) bool { return p.Session != "report" && p.Session != "asks" }))
	opened, err := kinds.All(nil, t.TempDir()).Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	s, graph := storetest.AsWriter(opened), g.serve(t, address)
	counts, seen := map[model.Op]int{}, map[string]bool{}
	for _, at := range places {
		if strings.Contains(at.Session, "/") || seen[at.header.ID] {
			continue
		}
		seen[at.header.ID] = true
		was := graph.thinks(t, at.Session, at.Session, at.header.ID)
		for _, change := range []model.Change{{Op: model.OpRestore, Ref: at.header.Ref()}, {Op: model.OpFork, Ref: at.header.Ref(), As: "forked"}} {
			receipt := carriedOut(t, s, change)
			if receipt.Entry == 0 { // the head stays: LangGraph thinks of it with what its tasks did since
				continue
			}
			now := graph.thinks(t, at.Session, receipt.Session, "")
			if at.header.Head { // a fork of it has what its tasks did so far
				was = graph.thinks(t, at.Session, at.Session, "")
			}
			if now.ID != receipt.Head.ID {
				t.Errorf("%s: LangGraph goes on from %s instead of %s", change, now.ID, receipt.Head.ID)
			}
			was.ID, now.ID = "", ""
			if change.Op == model.OpRestore { // writes are not copied: what asks asks again when it runs
				now.Asked = was.Asked
			}
			if !reflect.DeepEqual(was, now) {
				t.Errorf("%s: LangGraph thinks of the checkpoint\n%+v\nand of what Hindcast wrote\n%+v", change, was, now)
			}
			counts[change.Op]++
			carriedOut(t, s, model.Change{Op: model.OpUndo})
		}
		if after := c.Rows(t, address); after != before {
			t.Fatalf("%s #%d: after undos the rows are others", at.Session, at.header.Index)
		}
	}
	if counts[model.OpRestore] < 60 || counts[model.OpFork] < 70 {
		t.Errorf("there were %v", counts)
	}
	t.Logf("LangGraph goes on from %d restores and %d forks as from the checkpoints themselves", counts[model.OpRestore], counts[model.OpFork])
}

// carriedOut plans a change and carries it out.
func carriedOut(t *testing.T, s storetest.Writer, change model.Change) model.Receipt {
	t.Helper()
	plan, err := s.Plan(t.Context(), change)
	var receipt model.Receipt
	if err == nil {
		receipt, err = s.Apply(t.Context(), plan)
	}
	if err != nil {
		t.Fatalf("%s: %v", change, err)
	}
	return receipt
}
