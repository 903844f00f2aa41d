package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"hindcast/model"
)

func TestAsk(t *testing.T) {
	plan := &model.Plan{Op: model.OpRestore}
	for _, c := range []struct {
		typed string
		err   error
	}{
		{"y\n", nil},
		{" YES \n", nil},
		{"yes", nil},
		{"\n", errDeclined},
		{"n\n", errDeclined},
		{"yep\n", errDeclined},
		{"", errDeclined},
	} {
		var shown bytes.Buffer
		a := &App{In: strings.NewReader(c.typed), Err: &shown, InTerminal: true}
		if err := a.ask(t.Context(), plan); !errors.Is(err, c.err) {
			t.Errorf("typed %q: %v, want %v", c.typed, err, c.err)
		}
		if shown.String() != "restore now? [y/N] " {
			t.Errorf("asked %q", &shown)
		}
	}
}

func TestAsk_withoutSomebodyToAnswerIsRefused(t *testing.T) {
	var shown bytes.Buffer
	a := &App{In: strings.NewReader("y\n"), Err: &shown}
	err := a.ask(t.Context(), &model.Plan{Op: model.OpRestore})
	if err == nil || !strings.Contains(err.Error(), "--yes") {
		t.Errorf("error %v does not say what to do", err)
	}
	if shown.Len() > 0 {
		t.Errorf("asked %q", &shown)
	}
}

func TestAsk_endsWhenInterrupted(t *testing.T) {
	never, keep := io.Pipe()
	defer keep.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := &App{In: never, Err: io.Discard, InTerminal: true}
	if err := a.ask(ctx, &model.Plan{Op: model.OpRestore}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
