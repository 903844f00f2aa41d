package report

import (
	"bytes"
	"fmt"

	"hindcast/model"
)

// redactAll hides the secrets of the session, if it has a Redactor: it learns all of them before it hides the first.
func (p *page) redactAll() error {
	r := p.Redactor
	if r == nil {
		return nil
	}
	var state []byte
	for _, text := range p.texts {
		state = appendState(state[:0], text)
		if err := r.Learn(state); err != nil {
			return fmt.Errorf("redact: a message: %w", err)
		}
	}
	for n := range p.additions {
		if state, is := p.readRest(model.Node(n)); is {
			if err := r.Learn(state); err != nil {
				return fmt.Errorf("redact: snapshot %s: %w", p.Timeline.Name(model.Node(n)), err)
			}
		}
	}
	if err := r.FinishLearning(); err != nil {
		return err
	}
	for i, text := range p.texts {
		state = appendState(state[:0], text)
		hidden, err := r.State(state)
		if err != nil {
			return fmt.Errorf("redact: a message: %w", err)
		}
		if !bytes.Equal(hidden, state) {
			p.texts[i] = hidden[len(stateBegin) : len(hidden)-len(stateEnd)]
		}
	}
	for n := range p.titles {
		p.titles[n] = p.hideText("title", p.titles[n])
	}
	p.Title, p.ID = p.hideText("title", p.Title), p.hideText("session", p.ID)
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
