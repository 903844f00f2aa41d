package tui

import (
	"cmp"
	"context"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/look"
	"hindcast/model"
	"hindcast/query"
	"hindcast/query/ledger"
	"hindcast/tui/cell"
	"hindcast/tui/dialog"
	"hindcast/tui/sheet"
)

// chartDays opens a chart of the last days. It shows the cost of each, or its tokens where no price is known.
func (m *Model) chartDays() tea.Cmd {
	if m.o.Ledger == nil {
		m.say("the sums of sessions are switched off")
		return nil
	}
	o, rows, since := m.o, m.list.Content().Rows(), m.o.firstDay()
	return m.start(charting, "adding up days", func(ctx context.Context, done *progress) fact {
		done.of.Store(int64(len(rows)))
		var entries []ledger.Entry
		unread := 0
		for _, row := range rows {
			done.Add(1)
			if row.Err != nil || row.UpdatedAt.Before(since) {
				continue
			}
			account, err := o.Ledger.Account(ctx, row)
			switch {
			case ctx.Err() != nil:
				return nil
			case err != nil:
				unread++
				continue
			}
			entries = append(entries, ledger.Entry{Session: row, Account: account})
		}
		o.Ledger.Keep()
		bill := ledger.NewBill(ledger.ByDay, o.Prices, since, entries)
		return func() tea.Cmd {
			m.dirty = true
			if m.place == atList && m.dialog == nil && m.input == nil {
				m.openDialog(dialog.NewSheet(m.styles, m.keys, fmt.Sprintf("The last %d days", recentDays), o.dayLines(bill, unread)))
			}
			return nil
		}
	})
}

// dayLines returns the lines of a chart, the newest day first: each with its cost, its tokens and its bar.
func (o *Options) dayLines(bill *ledger.Bill, unread int) []sheet.Paragraph {
	words := func(sum *query.Sum) (money, tokens string) {
		return cmp.Or(o.moneyOf(sum, true), "-"), model.ShortCount(sum.Input+sum.Output) + " tokens"
	}
	money, tokens := words(&bill.Total.Sum)
	wide, long := cell.Width(money), cell.Width(tokens)
	for i := range bill.Rows {
		money, tokens := words(&bill.Rows[i].Sum.Sum)
		wide, long = max(wide, cell.Width(money)), max(long, cell.Width(tokens))
	}
	line := func(label string, sum *query.Sum, share float64) sheet.Paragraph {
		money, tokens := words(sum)
		text := fmt.Sprintf("%*s  %*s", wide, money, long, tokens)
		return sheet.Paragraph{Label: label, Text: text, Fit: func(g *look.Glyphs, w int) string {
			return text + "  " + g.DrawBlocks(share, max(w-cell.Width(text)-2, 0))
		}}
	}
	var lines []sheet.Paragraph
	for i, share := range bill.RowShares() {
		row := &bill.Rows[i]
		lines = append(lines, line(row.Day.Format("Mon 2 Jan"), &row.Sum.Sum, share))
	}
	lines = append(lines, line("total", &bill.Total.Sum, 0))
	if bill.Total.Left.Answers > 0 {
		lines = append(lines, line("of it left", &bill.Total.Left, 0))
	}
	if bill.Total.Dropped.Answers > 0 {
		lines = append(lines, line("dropped", &bill.Total.Dropped, 0))
	}
	if unread > 0 {
		lines = append(lines, sheet.Paragraph{Label: "unread", Text: model.Count(unread, "session") + " could not be read"})
	}
	return lines
}
