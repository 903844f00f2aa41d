package model

import "strconv"

// Count says how many things there are: "1 fault", "2 faults". The noun must form its plural with an s.
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
