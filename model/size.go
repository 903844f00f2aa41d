package model

import "strconv"

// AppendSize appends a number of bytes for people: "11 B", "12.3 kB", "4.0 MB".
func AppendSize(dst []byte, size int64) []byte {
	if size < 1000 {
		return append(strconv.AppendInt(dst, size, 10), " B"...)
	}
	value, unit := float64(size)/1000, 0
	const units = "kMGTPE"
	for value >= 999.95 && unit < len(units)-1 {
		value /= 1000
		unit++
	}
	dst = strconv.AppendFloat(dst, value, 'f', 1, 64)
	return append(dst, ' ', units[unit], 'B')
}
