package tui

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/model"
	"hindcast/query"
	"hindcast/query/ledger"
	"hindcast/tui/cell"
	"hindcast/tui/picker"
)

// The rows in sight get their sums once the list is read: from the notes of the ledger, or else by reading the session.
//
//	rows lack sums ─▶ a part of them ─▶ … ─▶ none lack ─▶ the sum of the last days, by the notes ─▶ nothing runs
//	  ▲ a session changed, after a rest │
//
// Sessions that change all the time are summed for a tenth of the time at most.

// sums holds the state of the sums of the list.
type sums struct {
	// recent is the sum of the last days of all sessions of content; nil before the first.
	recent  *recentSum
	content *picker.Content
	// outdated says that sums came since.
	outdated bool
	// rests says that sessions that changed wait to be summed again.
	rests bool
	// parts counts the parts of lists that came, and stalled says that a store keeps the next one waiting.
	parts   uint64
	stalled bool
	// young holds the summed sessions that the ledger has no note of yet.
	young map[picker.Name]bool
}

const (
	// recentDays is how many days the sum in the header covers.
	recentDays = 30
	// mostSummed is how many sessions one command sums, and longestSum after how long it takes no further one.
	mostSummed = 32
	longestSum = 100 * time.Millisecond
	// restShare is how many times as long as a sum the rest after it is.
	restShare = 9
)

// sumRows sums the sessions in sight that lack their sums, or else the last days.
func (m *Model) sumRows() tea.Cmd {
	if m.place != atList || m.o.Ledger == nil || m.tasks[listing].running && !m.sums.stalled || m.tasks[summing].running {
		return nil
	}
	if sessions := m.list.LackSums(mostSummed, !m.sums.rests); len(sessions) > 0 {
		return m.sumSessions(sessions)
	}
	if content := m.list.Content(); content.Len() > 0 && !m.sums.rests && (m.sums.outdated || m.sums.content != content) {
		return m.sumRecent(content)
	}
	return nil
}

// stallPause is how long a list may bring nothing until the rows that came get their sums.
const stallPause = 400 * time.Millisecond

// awaitStall has the rows that came summed where the rest of the list keeps waiting.
func (m *Model) awaitStall() tea.Cmd {
	m.sums.parts++
	m.sums.stalled = false
	parts := m.sums.parts
	return m.runLater(stallPause, func() tea.Cmd {
		m.sums.stalled = parts == m.sums.parts
		return nil
	})
}

// sumSessions sums sessions, each with its sub-agents behind it.
func (m *Model) sumSessions(sessions [][]picker.Row) tea.Cmd {
	o := m.o
	return m.start(summing, "", func(ctx context.Context, _ *progress) fact {
		began := time.Now()
		known, young := map[picker.Name]*picker.Sum{}, map[picker.Name]bool{}
		for _, rows := range sessions {
			sum := o.sumSession(ctx, rows)
			if ctx.Err() != nil {
				return nil
			}
			for i := range rows {
				if _, noted := o.Ledger.Recall(rows[i]); !noted {
					young[picker.NameOf(&rows[i])] = true
				}
			}
			if known[picker.NameOf(&rows[0])] = sum; time.Since(began) > longestSum {
				break
			}
		}
		o.Ledger.Keep()
		took := time.Since(began)
		return func() tea.Cmd { return m.showRowSums(known, young, took) }
	})
}

// showRowSums shows the sums of rows and rests where some of them had changed.
func (m *Model) showRowSums(known map[picker.Name]*picker.Sum, young map[picker.Name]bool, took time.Duration) tea.Cmd {
	m.sums.outdated, m.dirty = true, true
	if m.preview.shown != nil {
		defer m.putPreview(m.preview.shown)
	}
	maps.Copy(young, m.sums.young)
	m.sums.young = young
	if !m.list.AddSums(known) {
		return nil
	}
	return m.restSums(took)
}

// restSums lets sessions that changed wait.
func (m *Model) restSums(took time.Duration) tea.Cmd {
	m.sums.rests = true
	return m.runLater(restShare*took, func() tea.Cmd {
		m.sums.rests = false
		return nil
	})
}

// sumSession returns the sum of a session and its sub-agents, an empty one where it cannot be read.
func (o *Options) sumSession(ctx context.Context, rows []picker.Row) *picker.Sum {
	sum := &picker.Sum{Of: picker.StampOf(rows), Kind: rows[0].Kind, Danger: dangerOf(ctx, rows[0])}
	var accounts []*ledger.Account
	for _, row := range rows {
		account, err := o.Ledger.Account(ctx, row)
		if err != nil {
			continue // opening the session says why
		}
		accounts = append(accounts, account)
	}
	all := ledger.SumOf(o.Prices, accounts...)
	sum.Turns, sum.Left, sum.Failures, sum.Flags = all.Turns, all.Branches, all.Failures, all.Flags
	sum.Cost, sum.Money = all.Cost, o.moneyOf(&all.Sum, true)
	return sum
}

// dangerOf returns the verdict of the framework on the worst fault of a session that the list has faults of, if it loses
// something by it; else "".
func dangerOf(ctx context.Context, row picker.Row) string {
	opened := row.Store.Opened()
	if row.Faults <= 0 || opened == nil {
		return ""
	}
	faults, err := opened.Faults(ctx, row.ID)
	faults = slices.DeleteFunc(faults, func(f model.Fault) bool { return f.Severity < model.Loses || f.Verdict == "" })
	if err != nil || len(faults) == 0 {
		return ""
	}
	worst := slices.MaxFunc(faults, func(a, b model.Fault) int { return int(a.Severity) - int(b.Severity) })
	verdict, _, _ := strings.Cut(worst.Verdict, ";")
	return verdict
}

// moneyOf returns the cost of a sum, with + where more answers or sessions are not counted; "" if no price is known.
func (o *Options) moneyOf(sum *query.Sum, whole bool) string {
	text := sum.CostText(o.Currency)
	if text != "" && (sum.Unpriced > 0 || !whole) {
		text += "+"
	}
	return text
}

// recentSum is the sum of the last days: it covers known of all sessions that changed in them. listed says that all
// sessions were listed.
type recentSum struct {
	query.Sum
	known, all int
	listed     bool
}

// firstDay returns the midnight at which the last days begin.
func (o *Options) firstDay() time.Time {
	year, month, day := o.Now().In(o.Zone).Date()
	return time.Date(year, month, day-recentDays+1, 0, 0, 0, 0, o.Zone)
}

// sumRecent adds up the last days by the notes of the ledger.
func (m *Model) sumRecent(content *picker.Content) tea.Cmd {
	o, young, since, listed := m.o, m.sums.young, m.o.firstDay(), !m.tasks[listing].running
	m.sums.outdated, m.sums.content = false, content
	return m.start(summing, "", func(ctx context.Context, _ *progress) fact {
		began := time.Now()
		sum := &recentSum{listed: listed}
		var entries []ledger.Entry
		for _, row := range content.Rows() {
			if row.Err != nil || row.UpdatedAt.Before(since) {
				continue
			}
			if ctx.Err() != nil {
				return nil
			}
			account, known := o.Ledger.Recall(row)
			if !known && young[picker.NameOf(&row)] {
				read, err := o.Ledger.Account(ctx, row)
				account, known = read, err == nil
			}
			if sum.all++; known {
				entries = append(entries, ledger.Entry{Session: row, Account: account})
			}
		}
		sum.known = len(entries)
		sum.Sum = ledger.NewBill(ledger.ByDay, o.Prices, since, entries).Total.Sum
		took := time.Since(began)
		return func() tea.Cmd {
			m.sums.recent, m.dirty = sum, true
			return m.restSums(took)
		}
	})
}

// putRecent draws the sum of the last days and how many sessions have faults at the right end of the header.
func (m *Model) putRecent(r *cell.Row) {
	const margin, between = 1, 3
	money, faults := "", ""
	if sum := m.sums.recent; sum != nil {
		if money = m.o.moneyOf(&sum.Sum, sum.listed && sum.known == sum.all); money != "" {
			money += " in " + strconv.Itoa(recentDays) + " d"
		}
	}
	if n := m.list.Content().Faulty(); n > 0 {
		faults = m.styles.Glyphs.Damaged + " " + strconv.Itoa(n)
	}
	if sum := m.sums.recent; money != "" && sum.known < sum.all {
		of := " of " + strconv.Itoa(sum.known) + " of " + strconv.Itoa(sum.all) + " sessions"
		if cell.Width(money+of+faults)+2*between <= r.Room() {
			money += of
		}
	}
	width := cell.Width(money) + cell.Width(faults) + margin
	if money != "" && faults != "" {
		width += between
	}
	if width+between > r.Room() {
		return
	}
	r.Fill(m.styles.Text, r.Room()-width)
	r.Put(m.styles.Text, money)
	if money != "" && faults != "" {
		r.Fill(m.styles.Text, between)
	}
	r.Put(m.styles.Error, faults)
}
