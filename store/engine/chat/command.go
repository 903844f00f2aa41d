package chat

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"hindcast/model"
	"hindcast/store"
)

// How a call leads the agent to the storage.
//
// An agent looks for a session in its own place. Of a copy, or of another home, the call names the
// storage: by a variable of the environment in front of it, or by an option among its words.
//
//	~/.codex                 codex resume ID
//	/backup/codex            CODEX_HOME=/backup/codex codex resume ID
//	/backup/claude/projects  cd PROJECT && CLAUDE_CONFIG_DIR=/backup/claude claude --resume ID
//	/project/.crush          crush --data-dir /project/.crush -s ID

// Moved says which variable of the environment names the place of an agent's sessions. The zero
// value is an agent without one.
type Moved struct {
	Variable string
	// Below is where the storage is in the folder that the variable names, with slashes: "projects"; ""
	// for that folder itself.
	Below string
}

// Places returns a Places of [Agent]: the storage below the folder that the variable names, else a folder below the home,
// with slashes.
func (m Moved) Places(usual string) func(store.Surroundings) []string {
	return func(around store.Surroundings) []string {
		if dir := around.FolderOf(m.Variable); dir != "" {
			return []string{filepath.Join(dir, filepath.FromSlash(m.Below))}
		}
		return Places(around, "", usual)
	}
}

// ForeignDir returns the folder of the storage on the disk, where the agent does not look for the session
// there; "" where it does, and where the storage is on no disk.
func (s *Session) ForeignDir() string {
	if s.agent == nil || s.dir == "" {
		return ""
	}
	home, _ := os.UserHomeDir() // a place that is not known is none
	work, _ := os.Getwd()
	file := filepath.Join(s.dir, filepath.FromSlash(s.Spot.File))
	for _, place := range s.agent.Places(store.Surroundings{Home: home, Work: work, Env: os.Getenv}) {
		if isSame(place, file) || isSame(place, s.dir) && (s.Spot.Part == "" || s.agent.Database == "" || s.Spot.File == s.agent.Database) {
			return ""
		}
	}
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return ""
	}
	return dir
}

// isSame reports whether two paths lead to one file or folder.
func isSame(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// homeValue returns the value that the agent's variable needs for the session to be found; "" if it needs no
// value. lost says that no folder leads there.
func (s *Session) homeValue() (value string, lost bool) {
	value = s.ForeignDir()
	if value == "" || s.agent.Moved.Variable == "" {
		return "", false
	}
	switch database := filepath.Join(value, s.agent.Database); {
	case s.agent.Database == "":
		above, is := strings.CutSuffix(filepath.ToSlash(value), strings.TrimSuffix("/"+s.agent.Moved.Below, "/"))
		value, lost = filepath.FromSlash(above), !is || above == ""
	case s.Spot.Part != "":
		value = filepath.Join(value, filepath.FromSlash(s.Spot.File))
	case isSame(database, database):
		value = database
	default: // the agent takes a file in, where it looks
		return "", false
	}
	if lost = lost || strings.ContainsFunc(value, isNotPrintable); lost {
		return "", true
	}
	return value, false
}

// Command returns the call of a program of the agent: see the function. In front of the program
// stands the variable that leads it to the storage.
func (s *Session) Command(dir string, words ...string) string {
	text := Command("", words...)
	if value, _ := s.homeValue(); value != "" {
		text = s.agent.Moved.Variable + "=" + quoteWord(value) + " " + text
	}
	return enterFolder(dir) + text
}

// ResumeInProject returns the call that resumes a session in the folder of the project of s: a program of the agent and its
// words. then describes the effect of the call.
func (s *Session) ResumeInProject(then string, words ...string) []model.Resume {
	if s.Project == "" {
		then += ", in the folder of the project"
	}
	return []model.Resume{{Call: s.Command(s.Project, words...), Then: then}}
}

// noteLost returns the calls that go on in a session, which say where one cannot lead the agent to it.
func (s *Session) noteLost(calls []model.Resume) []model.Resume {
	if _, lost := s.homeValue(); !lost {
		return calls
	}
	list := make([]model.Resume, len(calls))
	for i, call := range calls {
		list[i] = call
		list[i].Then += ", once its files are where " + s.agent.Framework + " keeps sessions"
	}
	return list
}

var notPlain = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^0-9A-Za-z]`) })

// DashedPath returns the path of a project as Claude Code and its descendants name the folder of its sessions: with a dash for
// each character that is no letter of ASCII and no digit.
func DashedPath(project string) string { return notPlain().ReplaceAllString(project, "-") }

// Command returns words as a command for a POSIX shell, run in a folder; "" for wherever
// the shell is. The words may come from a file: each is quoted where it is not plain. A
// folder that is no absolute path, or is not printable, is left out.
func Command(dir string, words ...string) string {
	text := enterFolder(dir)
	for i, word := range words {
		if i > 0 {
			text += " "
		}
		text += quoteWord(word)
	}
	return text
}

// enterFolder returns the shell command that changes to a folder, to stand before another command, or "".
func enterFolder(dir string) string {
	if (path.IsAbs(dir) || filepath.IsAbs(dir)) && !strings.ContainsFunc(dir, isNotPrintable) {
		return "cd " + quoteWord(dir) + " && "
	}
	return ""
}

func isNotPrintable(r rune) bool { return !unicode.IsPrint(r) }

// quoteWord returns a word as a shell reads it.
func quoteWord(word string) string {
	special := func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./:=@%+,", r))
	}
	if word != "" && strings.IndexFunc(word, special) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
