package report

import (
	"bytes"
	"context"
	"fmt"

	"hindcast/model"
	"hindcast/model/prompts"
	"hindcast/redact"
)

// redactAll hides the secrets of pages, if there is a Redactor: it learns all of them before it hides the first.
func redactAll(ctx context.Context, r *redact.Redactor, pages ...*page) error {
	if r == nil {
		return nil
	}
	for _, p := range pages {
		if err := p.learnSecrets(ctx, r); err != nil {
			return err
		}
	}
	if err := r.FinishLearning(); err != nil {
		return err
	}
	for _, p := range pages {
		if err := p.hideSecrets(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// learnSecrets collects the secrets of a page.
func (p *page) learnSecrets(ctx context.Context, r *redact.Redactor) error {
	err := p.eachMessage(ctx, "look for secrets in", func(_ int, state []byte) error { return r.Learn(state) })
	if err != nil {
		return err
	}
	for n := range p.additions {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if state, is := p.readRest(model.Node(n)); is {
			if err := r.Learn(state); err != nil {
				return fmt.Errorf("redact: snapshot %s: %w", p.Timeline.Name(model.Node(n)), err)
			}
		}
	}
	return nil
}

// hideSecrets hides the learned secrets in the messages and the titles of a page.
func (p *page) hideSecrets(ctx context.Context, r *redact.Redactor) error {
	notices := map[int32]string{} // of the messages whose words are left out
	err := p.eachMessage(ctx, "hide secrets in", func(i int, state []byte) error {
		hidden, err := r.State(state)
		if err == nil && !bytes.Equal(hidden, state) {
			p.messages.Replace(i, hidden[len(stateBegin):len(hidden)-len(stateEnd)])
			if notice := prompts.NoticeOf(hidden); notice != "" {
				notices[int32(i)] = notice
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	for n := range p.titles {
		if added := p.additions[n].Added; len(added) > 0 && notices[added[len(added)-1]] != "" {
			p.titles[n] = notices[added[len(added)-1]] // it was made of the words
		}
		p.titles[n] = p.hideText("title", p.titles[n])
	}
	p.Title, p.ID = p.hideText("title", p.Title), p.hideText("session", p.ID)
	return nil
}

// eachMessage calls do with each message in a state of its own, which is lent, and tells how far the stage is. It ends
// with ctx, and with the first error.
func (p *page) eachMessage(ctx context.Context, stage string, do func(i int, state []byte) error) error {
	var state []byte
	for i := range p.messages.Len() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p.tellStage(stage, "message", i+1, p.messages.Len())
		state = appendState(state[:0], p.messages.Message(i))
		if err := do(i, state); err != nil {
			return fmt.Errorf("redact: a message: %w", err)
		}
	}
	return nil
}

// hideText returns a text without its secrets; a text that still has one is left out.
func (p *page) hideText(name, text string) string {
	if p.Redactor == nil {
		return text
	}
	hidden, err := p.Redactor.Text(name, text)
	if err != nil {
		return "[redacted]"
	}
	return hidden
}

// stateBegin and stateEnd stand around a message in a state.
const stateBegin, stateEnd = `{"messages":[`, `]}`

// appendState appends a state of one message.
func appendState(to, message []byte) []byte {
	to = append(to, stateBegin...)
	to = append(to, message...)
	return append(to, stateEnd...)
}
