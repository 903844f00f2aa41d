package cell

import "strings"

// ShortID shortens the id of a session to w cells. Ids may begin alike, so the end
// stays: of a session with several agents the agent, if it is short enough,
// and of any other a third.
func ShortID(id string, w int, ellipsis string) string {
	if Width(id) <= w {
		return id
	}
	end := ellipsis
	if at := strings.LastIndexByte(id, '/'); at >= 0 && Width(id[at:])+Width(ellipsis) <= w*2/3 {
		end += id[at:]
	} else {
		for i := range id {
			if Width(id[i:]) <= w/3 {
				end += id[i:]
				break
			}
		}
	}
	fits := 0
	for i := range id {
		if Width(id[:i])+Width(end) > w {
			break
		}
		fits = i
	}
	return id[:fits] + end
}

// CutFront shortens a path to w cells, beginning with the ellipsis. The end stays, from the beginning of a name
// where one fits.
func CutFront(path string, w int, ellipsis string) string {
	if Width(path) <= w {
		return path
	}
	w -= Width(ellipsis)
	start := len(path)
	for i := range path {
		if named := path[i] == '/' && i+1 < len(path); (named || start == len(path)) && Width(path[i:]) <= w {
			if start = i; named {
				break
			}
		}
	}
	return ellipsis + path[start:]
}
