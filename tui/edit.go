package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/model/splice"
	"hindcast/store/media/scratch"
	"hindcast/tui/dialog"
)

// What if that tool had answered something else? A state, or a part of it, goes to
// the person's editor, and a new session is planned that starts from the state as
// it is then:
//
//	choose what ─▶ editor ─▶ read ─▶ name ─▶ plan ─▶ question ─▶ write
//	                 ▲          └─ not JSON, or refused by the store: edit again,
//	                 └────────────── or discard
//
// The text lives in a file that only the person can read. It goes when the session
// is written, when nothing changed, and when the person says so; a person who leaves
// elsewhere is told where it is.

// choice is something in a snapshot that can be edited, or why it cannot.
type choice struct {
	action   keymap.Action
	text     string
	pointer  string // JSON Pointer in the state
	disabled string
}

// draft is the edit in progress.
type draft struct {
	ref     model.Ref
	name    string // of the snapshot
	whole   []byte
	pointer string
	dir     *scratch.Folder // the private folder of the file
	file    string
}

// chooseEdit looks at what can be edited in the snapshot under the cursor.
func (m *Model) chooseEdit() tea.Cmd {
	s, states, texts := m.subject(), m.states, m.features.EditsTexts
	at, selected := "", false
	if c := m.selectedTab(); c != nil && m.tabs[m.current].shows == s.subjectKey {
		at, selected = c.Path(), true
	}
	return m.start(planning, "reading "+s.name, func(ctx context.Context, _ *progress) fact {
		st, err := states.get(ctx, s.ref)
		if err != nil {
			return m.cannotEdit(err)
		}
		conv, err := st.Conversation()
		if err != nil {
			return m.cannotEdit(err)
		}
		list := editChoices(conv, at, selected)
		if texts {
			list = textChoices(conv, list)
		}
		return func() tea.Cmd {
			m.askEdit(draft{ref: s.ref, name: s.name, whole: st.data}, list)
			return nil
		}
	})
}

// editChoices returns the values that a person can edit in a state. at is the path of the selected value. The
// message and the tool result are the ones that hold it. Without a selection they are the last ones.
func editChoices(conv *conversation.Conversation, at string, selected bool) []choice {
	tape, n := conv.Tape(), jsontape.None
	if selected {
		n = tape.LookupPointer(at)
	}
	state := choice{action: keymap.EditState, text: sizeOf(tape.Data())}
	message := choice{action: keymap.EditMessage, disabled: "there is no message in this state"}
	result := choice{action: keymap.EditResult, disabled: "there is no tool result in this state"}
	if i := messageAt(conv, n); i >= 0 {
		name := fmt.Sprintf("message %d, %s", i, conv.RoleText(i))
		message = choice{action: keymap.EditMessage, text: name, pointer: tape.Pointer(conv.Message(i).Node)}
		result = resultIn(conv, i, n)
	}
	value := choice{action: keymap.EditValue, disabled: "no value is selected in the tab"}
	switch {
	case n >= 0:
		value = choice{action: keymap.EditValue, text: at, pointer: at}
		if at == "" {
			value.text = "the whole state"
		}
	case selected:
		value.disabled = "the value is not in this state"
	}
	return []choice{state, message, result, value}
}

// textChoices returns the choices where texts alone can be edited: each is the text in its value.
func textChoices(conv *conversation.Conversation, list []choice) []choice {
	tape := conv.Tape()
	for i := range list {
		c := &list[i]
		if c.disabled != "" {
			continue
		}
		text, why := conv.EditableText(tape.LookupPointer(c.pointer))
		if c.disabled = why; why == "" {
			c.pointer = tape.Pointer(text)
		}
	}
	return list
}

// messageAt returns the message that a value is in, else the last one, or -1.
func messageAt(conv *conversation.Conversation, n jsontape.Node) int {
	if n > 0 {
		if i := conv.Find(n); i >= 0 {
			return i
		}
	}
	for i := conv.Len() - 1; i >= 0; i-- {
		if conv.Find(conv.Message(i).Node) == i {
			return i // not one that is held beside the messages
		}
	}
	return -1
}

// resultIn returns the tool result that a value is in or whose call it is in, else
// the only one of the message, else the last one before it: all that the tool gave,
// with how it ended.
func resultIn(conv *conversation.Conversation, message int, n jsontape.Node) choice {
	tape := conv.Tape()
	var results []int
	first, end := conv.FirstBlock(message), conv.FirstBlock(message+1)
	for i := first; i < end; i++ {
		b := conv.Block(i)
		result := resultOf(conv, i)
		if result < 0 {
			continue
		}
		if n > 0 && n >= b.Node && n < tape.End(b.Node) {
			results = []int{result}
			break
		}
		results = append(results, result)
	}
	for i := first - 1; i >= 0 && len(results) == 0; i-- {
		if conv.Block(i).Kind == conversation.ToolResult && resultOf(conv, i) >= 0 {
			results = []int{i}
		}
	}
	c := choice{action: keymap.EditResult}
	switch len(results) {
	case 0:
		c.disabled = "there is no tool result up to here"
	case 1:
		b := conv.Block(results[0])
		c.pointer, c.text = tape.Pointer(tape.Parent(b.Body)), fmt.Sprintf("in message %d", conv.MessageOf(results[0]))
		name := b.Name
		if b.Pair >= 0 && name < 0 {
			name = conv.Block(int(b.Pair)).Name
		}
		if name >= 0 {
			c.text = conversation.OneLine(tape.Text(name)) + ", " + c.text
		}
	default:
		c.disabled = fmt.Sprintf("there are %d at message %d: select one in the Messages tab", len(results), message)
	}
	return c
}

// resultOf returns the block that is the tool result of a block, itself or what its
// call led to, or -1.
func resultOf(conv *conversation.Conversation, block int) int {
	b := conv.Block(block)
	if b.Kind == conversation.ToolCall && b.Pair >= 0 {
		block = int(b.Pair)
		b = conv.Block(block)
	}
	if b.Kind != conversation.ToolResult || b.Body < 0 {
		return -1
	}
	return block
}

// cannotEdit says why nothing can be edited.
func (m *Model) cannotEdit(err error) fact {
	return func() tea.Cmd {
		m.tellFailure("cannot edit", err)
		return nil
	}
}

// askEdit asks what to edit.
func (m *Model) askEdit(d draft, list []choice) {
	var items []dialog.Item
	for _, c := range list {
		items = append(items, dialog.Item{Action: c.action, Text: c.text, Disabled: c.disabled, Do: func() tea.Cmd { return m.beginEdit(d, c) }})
	}
	m.openDialog(dialog.NewMenu(m.styles, m.keys, keymap.EditMenu, "Edit "+d.name+" and fork from that", "edit", items))
}

// beginEdit puts what was chosen into a file for the editor, and starts that.
func (m *Model) beginEdit(d draft, c choice) tea.Cmd {
	d.pointer = c.pointer
	temp := m.o.Temp
	return m.start(planning, "writing a file for the editor", func(context.Context, *progress) fact {
		if err := d.writeFile(temp, c.action.String()); err != nil {
			return m.cannotEdit(err)
		}
		return func() tea.Cmd { return m.runEditor(&d) }
	})
}

// writeFile makes the file in a folder below temp; no other user may read it.
func (d *draft) writeFile(temp, name string) error {
	value, err := splice.At(d.whole, d.pointer)
	if err != nil {
		return err
	}
	if d.dir, err = scratch.Make(temp); err != nil {
		return fmt.Errorf("make a folder for the edit: %w", err)
	}
	if d.file, err = d.dir.Write(name+".json", splice.Pretty(value)); err != nil {
		return fmt.Errorf("write the file for the editor: %w", errors.Join(err, d.dir.Remove()))
	}
	return nil
}

// runEditor returns the terminal to the editor that $VISUAL or else $EDITOR names,
// with its arguments, as a shell reads them.
func (m *Model) runEditor(d *draft) tea.Cmd {
	editor := m.o.Getenv("VISUAL")
	if editor == "" {
		editor = m.o.Getenv("EDITOR")
	}
	if editor == "" {
		editor = "vi"
	}
	command := exec.Command("sh", "-c", editor+` "$1"`, "hindcast", d.file)
	d.dir.Inherit(command)
	m.tasks[editing].running = true
	ended := func(err error) fact {
		return func() tea.Cmd {
			m.tasks[editing].running = false
			return m.readDraft(d, err)
		}
	}
	if m.o.Plain { // Bubble Tea has no terminal to hand back
		command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
		return makeCommand(func() fact { return ended(command.Run()) })
	}
	return tea.Exec(&editorRun{command, m.hand}, func(err error) tea.Msg { return ended(err) })
}

// editorRun runs an editor on the terminal that it is lent.
type editorRun struct {
	*exec.Cmd
	hand func(run func() error) error
}

// Run implements tea.ExecCommand.
func (r *editorRun) Run() error { return r.hand(r.Cmd.Run) }

// SetStdin implements tea.ExecCommand; an editor wants the terminal itself.
func (r *editorRun) SetStdin(in io.Reader) {
	if keys, ok := in.(*keyboard); ok {
		in = keys.File
	}
	r.Stdin = in
}

// SetStdout implements tea.ExecCommand.
func (r *editorRun) SetStdout(out io.Writer) { r.Stdout = out }

// SetStderr implements tea.ExecCommand.
func (r *editorRun) SetStderr(out io.Writer) { r.Stderr = out }

// errRemoved: nothing is left of an edit.
var errRemoved = errors.New("the editor removed the file with the edit")

// readDraft reads what the editor left: the state that it makes, or what is wrong with it. ended is how the editor ended.
func (m *Model) readDraft(d *draft, ended error) tea.Cmd {
	m.dirty = true
	return m.start(planning, "reading the edit", func(context.Context, *progress) fact {
		state, err := d.readState(ended)
		return func() tea.Cmd { return m.draftRead(d, state, err) }
	})
}

// readState returns the state with the text that the editor left in the file.
func (d *draft) readState(ended error) ([]byte, error) {
	text, err := os.ReadFile(d.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errRemoved
	case ended != nil:
		return nil, fmt.Errorf("the editor ended with an error: %w; $VISUAL or $EDITOR names another", ended)
	case err != nil:
		return nil, err
	}
	return splice.Replace(d.whole, d.pointer, text)
}

// draftRead asks for the name of the session to start from the edited state.
func (m *Model) draftRead(d *draft, state []byte, err error) tea.Cmd {
	var value *splice.ValueError
	switch {
	case errors.Is(err, splice.ErrUnchanged):
		m.say("nothing was changed: the edit says the same")
		return d.removeFile()
	case errors.Is(err, errRemoved):
		m.say("nothing was changed: " + err.Error())
		return d.removeFile()
	case errors.As(err, &value):
		m.rejectEdit(d, fmt.Errorf("this is not JSON: %w", value))
		return nil
	case err != nil:
		m.rejectEdit(d, err)
		return nil
	}
	w := write{Change: model.Change{Op: model.OpEdit, Ref: d.ref, State: state}, draft: d, difference: func(ctx context.Context) dialog.Change {
		return changeOf(ctx, d.name, d.whole, state, model.Gaps{})
	}}
	if m.namesForks {
		return m.planWrite(w)
	}
	m.askText("Fork from an edited "+d.name, "new session", m.newName("-edit"), sessionMeanings, w, takeName)
	return nil
}

// rejectEdit says why the edit will not do, and asks whether to edit it again.
func (m *Model) rejectEdit(d *draft, err error) {
	m.fail(err)
	m.openDialog(dialog.NewBroken(m.styles, m.keys, err.Error(), d.file, []dialog.Item{
		{Action: keymap.EditAgain, Text: "edit again", Do: func() tea.Cmd { return m.runEditor(d) }},
		{Action: keymap.Discard, Text: "discard", Do: func() tea.Cmd {
			m.say("the edit was discarded")
			return d.removeFile()
		}},
		{Action: keymap.Back, Text: "leave it", Do: func() tea.Cmd {
			m.keepDraft(d)
			return nil
		}},
	}))
}

// keepDraft says where the edit is that the person left, if there is one.
func (m *Model) keepDraft(d *draft) {
	if d != nil {
		m.say("nothing was changed; the edit is kept in " + d.file)
	}
}

// removeFile removes the file of the edit, if there is one.
func (d *draft) removeFile() tea.Cmd {
	if d == nil {
		return nil
	}
	return makeCommand(func() fact {
		_ = d.dir.Remove() // what stays is in a folder that no other user can read
		return nil
	})
}
