//go:build unix

package terminal_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"github.com/muesli/termenv"
	"golang.org/x/sys/unix"

	"hindcast/store/storetest/program"
	"hindcast/tui/theme"
)

// The program as it is shipped, on a terminal that never answers: over a slow
// line, in a pipe that looks like a terminal, or in a terminal that does not
// know the question. Bubble Tea v1 alone waits five seconds there.

// terminal is a silent terminal with a program on it.
type terminal struct {
	tty     *os.File
	cmd     *exec.Cmd
	started time.Time
	screen  *vt.Emulator

	mu      sync.Mutex
	raw     bytes.Buffer
	arrived time.Time     // when the last of raw was written
	changed chan struct{} // gets a value when something was written
	ended   chan struct{} // closed when the program has closed the terminal
}

// on starts the program on a terminal of that size, in a directory.
func on(tb testing.TB, width, height int, dir string, env []string, args ...string) *terminal {
	tb.Helper()
	return onCommand(tb, width, height, exec.CommandContext(tb.Context(), program.Path(tb), args...), dir, env)
}

func onCommand(tb testing.TB, width, height int, cmd *exec.Cmd, dir string, env []string) *terminal {
	tb.Helper()
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), program.Env(dir)...), env...)
	t := &terminal{cmd: cmd, screen: vt.NewEmulator(width, height), changed: make(chan struct{}, 1), ended: make(chan struct{}), started: time.Now()}
	blocking, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(width), Rows: uint16(height)})
	if err != nil {
		tb.Fatal(err)
	}
	// A blocking read of a terminal ends when the last process has closed it, which may be one that the program
	// started and that outlives it. A polled one ends when the file is closed.
	fd, err := unix.FcntlInt(blocking.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		tb.Fatal(err)
	}
	blocking.Close()
	t.tty = os.NewFile(uintptr(fd), blocking.Name())
	go io.Copy(io.Discard, t.screen) // the emulator would answer; this terminal does not
	go t.read()
	tb.Cleanup(func() {
		if cmd.ProcessState == nil {
			unix.Kill(-cmd.Process.Pid, unix.SIGKILL) // it leads a session, and so a group
			cmd.Wait()
		}
		t.tty.Close()
		<-t.ended
		if pipe, ok := t.screen.InputPipe().(io.Closer); ok {
			pipe.Close() // not the emulator's own Close, which races with Read
		}
	})
	return t
}

func (t *terminal) read() {
	defer close(t.ended)
	buf := make([]byte, 64<<10)
	for {
		n, err := t.tty.Read(buf)
		now := time.Now()
		t.mu.Lock()
		t.arrived = now
		t.raw.Write(buf[:n])
		t.screen.Write(buf[:n])
		t.mu.Unlock()
		select {
		case t.changed <- struct{}{}:
		default:
		}
		if err != nil {
			return // the other side is closed
		}
	}
}

// A program on a terminal may start what outlives it and has the terminal open: that ends a test as well.
func TestTerminal_endsWithWhatItStarted(t *testing.T) {
	var reader *terminal
	t.Run("", func(t *testing.T) {
		reader = onCommand(t, 80, 24, exec.CommandContext(t.Context(), "sh", "-c", `setsid sh -c 'trap "" HUP; echo up; exec sleep 60' & wait`), t.TempDir(), nil)
		reader.until(t, "the word of the one that it started", func(screen string) bool { return strings.Contains(screen, "up") })
	})
	if took := time.Since(reader.started); took > 30*time.Second {
		t.Errorf("it ends after %v", took)
	}
}

// written returns all that the program has written.
func (t *terminal) written() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.raw.String()
}

// shown returns what stands on the screen.
func (t *terminal) shown() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.screen.String()
}

// until waits for a screen, and returns the time since the start of the program.
func (t *terminal) until(tb testing.TB, what string, is func(screen string) bool) time.Duration {
	tb.Helper()
	deadline := time.After(20 * time.Second)
	for !is(t.shown()) {
		select {
		case <-t.changed:
		case <-t.ended:
			if is(t.shown()) {
				return t.since()
			}
			tb.Fatalf("the program ended before %s:\n%s", what, t.shown())
		case <-deadline:
			tb.Fatalf("no %s:\n%s", what, t.shown())
		}
	}
	return t.since()
}

// since returns the time from the start of the program to what it wrote last.
func (t *terminal) since() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.arrived.Sub(t.started)
}

// kill ends the program at once.
func (t *terminal) kill(tb testing.TB) {
	tb.Helper()
	if err := t.cmd.Process.Kill(); err != nil {
		tb.Fatal(err)
	}
	t.end(tb)
}

// write types keys.
func (t *terminal) write(tb testing.TB, keys string) {
	tb.Helper()
	if _, err := t.tty.WriteString(keys); err != nil {
		tb.Fatal(err)
	}
}

// end waits for the end of the program.
func (t *terminal) end(tb testing.TB) {
	tb.Helper()
	select {
	case <-t.ended:
	case <-time.After(20 * time.Second):
		tb.Fatalf("the program does not end:\n%s", t.shown())
	}
}

var everySubcommand = [][]string{
	{"--help"},
	{"--version"},
	{"restore", "--help"},
	{"sessions", "hindcast-demo.db"},
	{"log", "hindcast-demo.db"},
	{"show", "hindcast-demo.db", "trip-planner", "head"},
	{"diff", "hindcast-demo.db", "trip-planner", "head"},
	{"checkpoint", "hindcast-demo.db", "packing-list", "head"},
	{"restore", "hindcast-demo.db", "trip-planner", "#5", "--yes"},
	{"undo", "hindcast-demo.db", "--yes"},
	{"redo", "hindcast-demo.db", "--yes"},
	{"fork", "hindcast-demo.db", "trip-planner", "#5", "--as", "x", "--yes"},
	{"journal", "hindcast-demo.db"},
	{"doctor", "hindcast-demo.db"},
	{"export", "hindcast-demo.db"},
	{"export", "hindcast-demo.db", "-o", "demo.jsonl"},
	{"import", "demo.jsonl", "copy.db"},
	{"demo"},
	{"sessions", "nowhere"},
	{"nonsense", "x"},
}

// colour is what a command may write besides text.
var colour = regexp.MustCompile(`\x1b\[[0-9;]*m`)

func TestTerminal_commandsAskItNothing(t *testing.T) {
	dir := demoStore(t)
	for _, args := range everySubcommand {
		term := on(t, 100, 30, dir, nil, args...)
		term.end(t)
		out := colour.ReplaceAllString(term.written(), "")
		if strings.ContainsAny(out, "\x1b\u009b") || out == "" || strings.Contains(out, "goroutine ") {
			t.Errorf("hindcast %q wrote %q", args, out)
		}
	}
	term := on(t, 100, 30, dir, []string{"NO_COLOR=1"}, "log", "hindcast-demo.db", "trip-planner")
	term.end(t)
	if out := term.written(); strings.Contains(out, "\x1b") || !strings.Contains(out, "trip-planner") {
		t.Errorf("without colour, hindcast log wrote %q", out)
	}
}

// queries are what a program asks a terminal: colours, attributes, versions,
// the cursor, modes, keyboards.
var queries = regexp.MustCompile(`\x1b\](4;\d+|1[0-9]);\?|\x1b\[[>=]?\d*c|\x1b\[>\d*q|\x1b\[\??[56]n|\x1b\[\??\d+\$p|\x1b\[\?u|\x1bP[+$]q|\x1bZ`)

// unanswered is how long a program waits for a terminal that does not answer, and more than any
// machine takes for a screen.
const unanswered = 5 * time.Second

// painted says that the list of sessions or a session is on the screen.
func painted(screen string) bool { return strings.Contains(screen, "trip-planner") }

func TestTerminal_screenIsPaintedAtOnce(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{nil, {"hindcast-demo.db"}} {
		if args != nil {
			dir = demoStore(t)
		}
		term := on(t, 100, 30, dir, nil, args...)
		took := term.until(t, "screen", painted)
		t.Logf("hindcast %q: first paint after %v", args, took)
		if took > unanswered {
			t.Errorf("hindcast %q: first paint after %v, as with a question without an answer", args, took)
		}
		if asked := queries.FindAllString(term.written(), -1); !slices.Equal(asked, []string{"\x1b]11;?"}) {
			t.Errorf("hindcast %q asks the terminal %q", args, asked)
		}
		if _, err := term.tty.WriteString("qq"); err != nil { // out of the session, out of the list
			t.Fatal(err)
		}
		term.end(t)
		if err := term.cmd.Wait(); err != nil {
			t.Errorf("hindcast %q: q ends it with %v", args, err)
		}
	}
}

// The screen takes the colours that fit the background that the terminal tells of, and what is typed meanwhile counts.
// Where the person chose the colours the terminal is not asked.
func TestTerminal_background(t *testing.T) {
	dir := demoStore(t)
	const ofDark, ofLight = "\x1b]11;rgb:0000/0000/0000\a", "\x1b]11;rgb:ffff/ffff/ffff\x1b\\"
	// open has the terminal answer, and then the help opened, and waits until it shows in all the colours of one.
	// It returns those of the help, or if the list is painted anew before it, of both.
	open := func(answer string, want []string, env ...string) (seen []string) {
		t.Helper()
		term := on(t, 100, 30, dir, env, "hindcast-demo.db")
		term.until(t, "list", func(screen string) bool { return strings.Contains(screen, "packing-list") })
		if asked := queries.MatchString(term.written()); asked != (answer != "") {
			t.Errorf("with %q it is asked: %t", env, asked)
		}
		before := len(term.written())
		if _, err := term.tty.WriteString(answer + "?"); err != nil {
			t.Fatal(err)
		}
		term.until(t, "help in its colours", func(screen string) bool {
			seen = colour.FindAllString(term.written()[before:], -1)
			return strings.Contains(screen, "Keys: ") && !slices.ContainsFunc(want, isNotIn(seen))
		})
		return seen
	}
	dark := open("", nil, "HINDCAST_THEME=dark")
	light := open("", nil, "HINDCAST_THEME=light")
	ofDarkTheme, ofLightTheme := coloursOf(theme.Dark), coloursOf(theme.Light)
	if !slices.ContainsFunc(dark, isNotIn(ofLightTheme)) || !slices.ContainsFunc(light, isNotIn(ofDarkTheme)) {
		t.Fatal("dark and light are the same")
	}
	if got := open(ofDark, dark); slices.ContainsFunc(got, isNotIn(ofDarkTheme)) {
		t.Errorf("on a dark terminal the colours are %q, of a theme with %q", got, ofDarkTheme)
	}
	open(ofLight, light)
}

// A terminal with placeholders is sent the pictures of the messages in sight, once, and told to forget them at the end.
// Others are sent none.
func TestTerminal_pictures(t *testing.T) {
	dir, err := filepath.Abs(filepath.Join("..", "..", "testdata", "strands"))
	if err != nil {
		t.Fatal(err)
	}
	const placeholder, transmission, deletion = "\U0010EEEE\u0305", "\x1b_Ga=T,U=1,q=2,f=100,i=", "\x1b_Ga=d,d=I,i="
	for env, has := range map[string]bool{"TERM=xterm-kitty": true, "TERM=xterm-256color": false} {
		term := on(t, 100, 30, t.TempDir(), []string{env}, filepath.Join(dir, "python-file"), "bytes")
		term.until(t, "session", func(screen string) bool { return strings.Contains(screen, "4 snapshots") })
		term.write(t, "3")
		term.until(t, "messages", func(screen string) bool { return strings.Contains(screen, "image png 70 B") })
		if has {
			term.until(t, "the picture", func(string) bool { return strings.Contains(term.written(), placeholder) })
		}
		term.write(t, "3gg") // to the first snapshot, whose messages have it too
		term.until(t, "the first snapshot", func(screen string) bool { return strings.Contains(screen, "message 1 of 1") })
		if has {
			term.until(t, "the picture again", func(string) bool { return strings.Count(term.written(), placeholder) > 1 })
		}
		term.write(t, "qq")
		term.end(t)
		said := term.written()
		if sent := strings.Count(said, transmission); sent > 0 != has || sent > 1 || strings.Contains(said, placeholder) != has || strings.Contains(said, deletion) != has {
			t.Errorf("%s: %d pictures are sent", env, sent)
		}
	}
}

// coloursOf returns each escape sequence of a theme's tokens in 256 colours.
func coloursOf(palette theme.Palette) []string {
	s := theme.New(theme.Choice{Palette: palette, Profile: termenv.ANSI256})
	return colour.FindAllString(fmt.Sprint(s.Tokens, *s.Selected, *s.Unfocused), -1)
}

// isNotIn reports whether a colour is none of these.
func isNotIn(colours []string) func(string) bool {
	return func(c string) bool { return !slices.Contains(colours, c) }
}

// Rows come through a pipe, keys from the terminal.
func TestTerminal_screenOfAPipe(t *testing.T) {
	term := on(t, 100, 30, demoStore(t), nil, "export", "hindcast-demo.db", "-o", "demo.jsonl")
	term.end(t)
	term = onCommand(t, 100, 30, exec.CommandContext(t.Context(), "sh", "-c", `cat demo.jsonl | "$0" -`, program.Path(t)), term.cmd.Dir, nil)
	term.until(t, "screen", painted)
	if _, err := term.tty.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	term.end(t)
}

// What another process writes shows: the screen of this one follows.
func TestTerminal_followsWhatOthersWrite(t *testing.T) {
	dir := demoStore(t)
	term := on(t, 100, 30, dir, nil, "hindcast-demo.db")
	term.until(t, "list", func(screen string) bool { return strings.Contains(screen, "packing-list") })
	other := func(args ...string) time.Time {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program.Path(t), args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), program.Env(dir)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("hindcast %q: %v: %s", args, err, out)
		}
		return time.Now()
	}
	shows := func(at time.Time, what string) {
		t.Helper()
		term.until(t, what, func(screen string) bool { return strings.Contains(screen, what) })
		took := time.Since(at)
		t.Logf("%q after %v", what, took)
		if took > unanswered {
			t.Errorf("%q only after %v", what, took)
		}
	}
	shows(other("fork", "hindcast-demo.db", "trip-planner", "#5", "--as", "cheaper", "--yes"), "cheaper")
	if _, err := term.tty.WriteString("/trip\r\r"); err != nil {
		t.Fatal(err)
	}
	shows(time.Now(), "head #13  following")
	shows(other("restore", "hindcast-demo.db", "trip-planner", "#5", "--yes"), "head moved to #5: restored elsewhere")
	shows(other("undo", "hindcast-demo.db", "--yes"), "head #13  following")
}

// A mistake in the bindings is answered before the screen starts.
func TestTerminal_badBindings(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "hindcast"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "hindcast", "keys.toml"), []byte("[session]\nfly = \"x\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	term := on(t, 100, 30, dir, nil)
	term.end(t)
	if out := term.written(); !strings.Contains(out, "keys.toml: line 2") || strings.Contains(out, "\x1b") {
		t.Errorf("wrote %q", out)
	}
}

// First paint, from the start of the process: the figure is 50 ms.
func BenchmarkTerminal_firstPaint(b *testing.B) {
	dir := b.TempDir()
	program.Released(b)
	var total time.Duration
	n := 0
	for b.Loop() {
		term := on(b, 100, 30, dir, nil)
		total += term.until(b, "screen", painted)
		n++
		term.kill(b)
	}
	b.ReportMetric(float64(total.Milliseconds())/float64(n), "ms/paint")
}

// Autowrap is off while the screen is up and on wherever else something may write:
// in the editor, where the program is suspended, and behind it.
func TestTerminal_wrapsWhereOthersWrite(t *testing.T) {
	dir := demoStore(t)
	editor := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(editor, []byte("#!/bin/sh\necho THE EDITOR\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	term := on(t, 100, 30, dir, []string{"VISUAL=" + editor}, "hindcast-demo.db", "trip-planner")
	press := func(key string) {
		t.Helper()
		if _, err := term.tty.WriteString(key); err != nil {
			t.Fatal(err)
		}
	}
	up := func(times int) func(string) bool {
		return func(screen string) bool {
			return strings.Count(term.written(), "\x1b[?1049h") == times && strings.Contains(screen, "head #13")
		}
	}
	times := func(seq string, n int) func(string) bool {
		return func(string) bool { return strings.Count(term.written(), seq) == n }
	}
	term.until(t, "session", up(1))
	press("e")
	term.until(t, "question what to edit", func(screen string) bool { return strings.Contains(screen, "edit whole state") })
	press("s")
	term.until(t, "word that the editor failed", func(screen string) bool { return strings.Contains(screen, "cannot be used") })
	press("d")
	term.until(t, "session after the editor", up(2))
	press("\x1a")
	term.until(t, "suspended program", times("\x1b[?1049l", 2))
	// A signal that comes before the program waits for it is lost.
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(20 * time.Second); !up(3)(term.shown()); <-again.C {
		if err := term.cmd.Process.Signal(syscall.SIGCONT); err != nil || time.Now().After(deadline) {
			t.Fatalf("the program does not go on: %v\n%s", err, term.shown())
		}
	}
	press("\x03")
	term.end(t)
	got := regexp.MustCompile(`\x1b\[\?(7|1049)[hl]|THE EDITOR`).FindAllString(term.written(), -1)
	const enter, leave = "\x1b[?7l \x1b[?1049h ", "\x1b[?7h \x1b[?1049l "
	if want := enter + leave + "THE EDITOR " + enter + leave + enter + leave; strings.Join(got, " ")+" " != want {
		t.Errorf("the terminal was told\n%q, not\n%q", got, strings.Fields(want))
	}
}

// Without a store the demo is opened, in a file that nobody sees and that goes with
// the screen.
func TestTerminal_demoLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	term := on(t, 100, 30, dir, nil)
	term.until(t, "the demo", painted)
	made := func() []string {
		found, err := filepath.Glob(filepath.Join(dir, ".hindcast-*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if len(made()) != 1 {
		t.Errorf("it is open in %q", made())
	}
	if _, err := term.tty.WriteString("qq"); err != nil {
		t.Fatal(err)
	}
	term.until(t, "the end", func(string) bool { return len(made()) == 0 })
}
