// Code generated from functions.txt by genfunctions; DO NOT EDIT.

package route

//go:generate go run ./internal/genfunctions

// functionKind is what a call of a built-in function means. The zero value is
// for words that are no built-in anywhere.
type functionKind uint8

const (
	functionUnknown functionKind = iota
	// functionPure changes nothing, and answers the same on every connection
	// that has the session's state.
	functionPure
	// functionGrammar is a word that may stand before a parenthesis without
	// being a function.
	functionGrammar
	functionLock
	functionSequence
	// functionLastInsertID sets the value if it has an argument.
	functionLastInsertID
	functionPrevious
	functionConnection
	functionInstance
	functionSideEffect
)

// condition is what must be true of a word on MariaDB so that it is built in
// and does not call a user's function.
type condition uint8

const (
	ifNothing condition = iota
	ifArguments
	ifTwoArguments
	ifAfterOperand // a closing parenthesis or a literal stands before the word
	ifAfterAs
	ifAfterOf
	ifInFrom // it is a table, and COLUMNS stands behind a literal inside
	ifSelectOption
)

// functionInfo is a line of functions.txt. Versions are numbers as in
// executable comments, 80004 for 8.0.4, and 0 if there is no limit.
type functionInfo struct {
	Kind functionKind
	// MySQL and MariaDB say that the word is built in, from the version Since
	// on. They are false for a word that newer versions do not know, with its
	// last version below Until, and for one that is built in only MariaDBIf.
	MySQL, MariaDB bool
	// NoSpaceMySQL and NoSpaceMariaDB say that it is a user's function if
	// anything, a blank or a comment, stands before the parenthesis, unless
	// sql_mode has IGNORE_SPACE. NoSpace is either.
	NoSpace, NoSpaceMySQL, NoSpaceMariaDB bool
	MariaDBIf                             condition
	MySQLSince, MySQLUntil                uint32
	MariaDBSince, MariaDBUntil            uint32
}

// harmful says that a call of it must not be taken for a plain read, whatever
// the server.
func (i functionInfo) harmful() bool { return i.Kind > functionGrammar }

// lookupFunction finds a word of any letter case that stands before a
// parenthesis. It does not allocate. What is not found is a user's function.
func lookupFunction(word string) (functionInfo, bool) {
	if len(word) > 47 {
		return functionInfo{}, false
	}
	h := functionHash(word)
	place := functionPlaces[(h^uint32(functionShifts[h%256])*0x9E3779B1)*0x85EBCA6B>>22]
	if place == 0 || !equal(word, functionWords[place-1].word) {
		return functionInfo{}, false
	}
	return functionInfos[functionWords[place-1].info], true
}

// functionHash is the same for all letter cases of a word.
func functionHash(word string) uint32 {
	h := uint32(len(word))
	for i := 0; i < len(word); i++ {
		h = (h ^ uint32(word[i]|0x20)) * 0x01000193
	}
	return h ^ h>>15
}

// functionShifts and functionPlaces are a perfect hash: the first gives a
// number to each bucket of words so that all of them have a place of their own
// in the second, which holds the index of a word plus 1.
var functionShifts = [256]uint16{
	0, 10, 1, 2, 0, 1, 3, 2, 6, 0, 0, 0, 10, 0, 3, 0, 0, 6, 1, 5, 6, 22, 4, 0, 0, 10, 12, 0, 0, 2, 8, 6, 5, 1, 3,
	4, 0, 0, 6, 7, 0, 14, 0, 0, 3, 0, 0, 1, 4, 1, 3, 11, 8, 0, 4, 2, 9, 2, 3, 1, 2, 5, 2, 3, 2, 7, 0, 0, 0, 13, 1,
	3, 9, 2, 1, 0, 0, 2, 13, 13, 0, 0, 5, 5, 9, 2, 0, 2, 0, 8, 12, 5, 1, 1, 6, 0, 3, 0, 0, 9, 19, 15, 0, 4, 23, 0,
	0, 1, 2, 0, 0, 9, 19, 9, 2, 8, 1, 1, 2, 0, 45, 2, 0, 8, 2, 0, 0, 0, 0, 0, 7, 1, 0, 12, 2, 0, 27, 3, 8, 10, 3,
	19, 3, 0, 20, 23, 5, 13, 2, 28, 7, 3, 4, 1, 0, 0, 8, 9, 11, 0, 18, 3, 18, 0, 19, 1, 1, 7, 0, 1, 0, 0, 5, 0, 0,
	35, 14, 2, 0, 5, 0, 1, 20, 0, 4, 6, 2, 10, 7, 0, 3, 1, 1, 3, 0, 8, 0, 4, 10, 0, 25, 8, 4, 4, 2, 0, 1, 10, 1,
	0, 4, 0, 1, 2, 4, 3, 12, 4, 1, 4, 5, 22, 8, 48, 5, 5, 26, 2, 0, 0, 2, 0, 13, 8, 22, 0, 8, 0, 0, 21, 16, 7, 6,
	1, 1, 6, 2, 9, 21, 3, 6, 3, 0, 42, 8, 0,
}

var functionPlaces = [1024]uint16{
	226, 210, 0, 715, 633, 168, 745, 110, 367, 0, 344, 58, 543, 0, 358, 0, 0, 0, 0, 345, 0, 0, 0, 272, 188, 503,
	199, 0, 194, 0, 695, 742, 0, 0, 471, 2, 692, 357, 453, 602, 279, 0, 0, 0, 61, 421, 0, 0, 0, 676, 104, 521, 0,
	23, 499, 703, 381, 249, 491, 165, 0, 0, 0, 368, 713, 0, 0, 88, 0, 445, 409, 710, 628, 475, 0, 389, 314, 372,
	446, 296, 437, 293, 10, 740, 434, 228, 448, 508, 84, 554, 167, 535, 173, 150, 487, 260, 0, 274, 0, 431, 0,
	417, 105, 0, 355, 0, 93, 626, 0, 183, 286, 77, 0, 515, 0, 0, 0, 681, 253, 0, 540, 346, 364, 0, 229, 137, 316,
	450, 542, 748, 343, 176, 187, 0, 28, 690, 0, 0, 647, 520, 408, 0, 464, 618, 120, 204, 135, 374, 0, 0, 55, 156,
	231, 320, 0, 330, 254, 232, 294, 0, 0, 49, 24, 619, 632, 617, 0, 241, 759, 0, 526, 489, 0, 504, 383, 287, 123,
	51, 568, 29, 449, 0, 412, 142, 25, 459, 121, 264, 0, 0, 404, 422, 129, 582, 563, 560, 193, 7, 664, 0, 30, 0,
	0, 12, 400, 259, 215, 70, 688, 154, 667, 737, 659, 33, 0, 134, 665, 307, 292, 663, 551, 544, 277, 0, 0, 699,
	651, 474, 426, 0, 189, 0, 0, 331, 82, 230, 0, 494, 0, 1, 240, 534, 0, 435, 0, 588, 201, 127, 510, 0, 302, 72,
	0, 424, 405, 684, 92, 315, 707, 266, 704, 0, 498, 255, 0, 238, 0, 607, 0, 0, 243, 86, 184, 21, 271, 460, 587,
	595, 750, 0, 223, 440, 311, 500, 706, 132, 247, 166, 652, 0, 623, 0, 164, 716, 125, 99, 8, 462, 351, 486, 672,
	726, 604, 6, 0, 365, 289, 111, 399, 658, 0, 288, 631, 265, 566, 0, 0, 80, 335, 608, 224, 31, 751, 0, 436, 557,
	594, 0, 641, 624, 0, 380, 257, 0, 666, 147, 0, 244, 392, 20, 160, 242, 131, 0, 531, 402, 0, 492, 0, 0, 480, 0,
	0, 185, 685, 270, 353, 180, 0, 591, 149, 712, 200, 473, 352, 0, 556, 63, 218, 0, 484, 128, 15, 0, 74, 747, 48,
	523, 558, 614, 322, 0, 0, 384, 545, 376, 396, 601, 0, 0, 0, 153, 0, 738, 541, 481, 524, 313, 645, 0, 0, 743,
	369, 439, 329, 756, 68, 0, 0, 333, 0, 0, 0, 398, 100, 117, 214, 606, 115, 43, 605, 0, 0, 169, 94, 162, 564,
	585, 0, 570, 693, 572, 675, 148, 0, 337, 468, 388, 0, 0, 502, 0, 325, 513, 650, 0, 237, 349, 0, 350, 219, 195,
	0, 206, 60, 85, 205, 290, 483, 720, 0, 306, 490, 573, 0, 0, 0, 0, 161, 267, 0, 328, 41, 722, 629, 0, 0, 0,
	101, 0, 119, 687, 59, 469, 278, 0, 386, 702, 245, 248, 668, 323, 179, 0, 186, 697, 0, 170, 625, 643, 0, 739,
	610, 362, 615, 308, 414, 0, 613, 0, 0, 533, 64, 696, 452, 478, 0, 387, 673, 0, 0, 717, 47, 177, 220, 375, 284,
	0, 143, 709, 0, 0, 234, 705, 0, 317, 159, 0, 0, 348, 0, 0, 276, 370, 0, 514, 310, 701, 112, 211, 627, 0, 0,
	485, 0, 603, 90, 81, 577, 359, 0, 593, 0, 334, 13, 562, 553, 299, 0, 538, 0, 714, 16, 592, 0, 415, 373, 0, 38,
	447, 0, 584, 251, 91, 0, 425, 678, 379, 124, 0, 529, 662, 378, 527, 0, 725, 73, 598, 190, 39, 718, 171, 0, 0,
	0, 192, 736, 621, 0, 130, 71, 360, 539, 727, 324, 40, 550, 501, 0, 0, 454, 0, 630, 79, 0, 0, 102, 0, 728, 754,
	0, 114, 438, 559, 155, 326, 0, 0, 518, 0, 213, 640, 732, 0, 0, 178, 611, 321, 581, 642, 97, 512, 517, 733,
	657, 476, 669, 547, 19, 674, 366, 151, 95, 17, 0, 537, 0, 327, 275, 0, 0, 174, 239, 0, 0, 634, 0, 744, 746, 0,
	0, 83, 305, 118, 406, 390, 141, 741, 139, 98, 423, 583, 689, 338, 655, 258, 18, 342, 758, 753, 0, 11, 309,
	734, 0, 472, 590, 103, 354, 516, 420, 0, 458, 635, 227, 0, 443, 0, 433, 361, 0, 0, 463, 318, 122, 479, 57,
	511, 506, 301, 340, 532, 0, 0, 158, 0, 711, 221, 50, 67, 0, 567, 138, 721, 363, 146, 622, 285, 0, 646, 546,
	268, 140, 393, 0, 45, 579, 530, 0, 708, 0, 569, 0, 0, 0, 442, 0, 0, 319, 145, 283, 0, 477, 163, 661, 0, 528,
	0, 648, 347, 246, 32, 0, 65, 507, 456, 0, 467, 455, 525, 729, 616, 66, 281, 273, 735, 5, 0, 0, 0, 35, 730,
	482, 731, 495, 0, 686, 671, 175, 656, 54, 682, 609, 181, 599, 536, 522, 597, 109, 0, 0, 428, 0, 263, 509, 654,
	107, 262, 719, 457, 52, 410, 0, 574, 303, 172, 53, 222, 282, 419, 644, 571, 96, 56, 377, 197, 427, 465, 0, 26,
	291, 0, 22, 89, 416, 757, 0, 391, 600, 639, 212, 505, 0, 0, 519, 418, 576, 493, 0, 108, 0, 0, 679, 44, 548,
	561, 385, 0, 4, 69, 0, 36, 0, 250, 191, 0, 203, 698, 0, 261, 42, 157, 0, 300, 411, 304, 638, 636, 620, 0, 0,
	75, 694, 680, 0, 113, 0, 0, 589, 0, 0, 341, 488, 269, 62, 723, 394, 295, 202, 235, 755, 752, 403, 9, 444, 596,
	336, 552, 144, 252, 0, 298, 208, 0, 451, 34, 46, 216, 565, 37, 401, 407, 0, 217, 470, 78, 209, 339, 677, 0, 0,
	356, 256, 0, 724, 126, 332, 0, 612, 236, 133, 371, 441, 691, 106, 207, 461, 0, 749, 586, 653, 466, 182, 196,
	0, 382, 0, 555, 233, 430, 297, 0, 198, 578, 0, 0, 683, 637, 225, 0, 497, 660, 0, 27, 700, 397, 280, 312, 395,
	549, 0, 136, 76, 580, 413, 0, 575, 0, 0, 670, 649, 14, 0, 152, 429, 760, 496, 0, 87, 116, 3, 0, 432, 0,
}

var functionInfos = [...]functionInfo{
	{Kind: functionPure, MySQL: true, MariaDB: true},
	{Kind: functionPure, MariaDB: true, MariaDBSince: 100600},
	{Kind: functionPure, MySQL: true, MariaDB: true, NoSpace: true, NoSpaceMySQL: true, NoSpaceMariaDB: true},
	{Kind: functionGrammar, MySQL: true, MariaDBIf: ifAfterOperand},
	{Kind: functionGrammar, MySQL: true, MariaDB: true},
	{Kind: functionPure, MySQL: true},
	{Kind: functionPure, MariaDB: true, MySQLUntil: 80000},
	{Kind: functionSideEffect, MySQL: true, MySQLSince: 80023},
	{Kind: functionSideEffect, MySQL: true, MySQLSince: 80022},
	{Kind: functionSideEffect, MySQL: true, MySQLSince: 80027},
	{Kind: functionSideEffect},
	{Kind: functionInstance},
	{Kind: functionGrammar, MySQL: true, MySQLSince: 90700},
	{Kind: functionPure, MySQL: true, MySQLSince: 80000},
	{Kind: functionInstance, MariaDB: true},
	{Kind: functionPure, MariaDB: true},
	{Kind: functionInstance, MySQL: true, MySQLSince: 80000},
	{Kind: functionConnection, MySQL: true, MariaDB: true},
	{Kind: functionPure, MariaDB: true, MariaDBSince: 100800},
	{Kind: functionPure, MySQL: true, MariaDB: true, NoSpace: true, NoSpaceMariaDB: true, MySQLSince: 80002},
	{Kind: functionPure, MySQL: true, MariaDB: true, MySQLSince: 80000},
	{Kind: functionPure, MySQL: true, MySQLSince: 90700},
	{Kind: functionGrammar, MySQL: true},
	{Kind: functionPure, MySQL: true, MySQLSince: 90400},
	{Kind: functionGrammar, MySQL: true, MariaDB: true, MySQLSince: 80031},
	{Kind: functionPure, MySQL: true, MariaDB: true, MySQLSince: 80016, MariaDBSince: 110800},
	{Kind: functionPure, MySQL: true, MariaDB: true, MySQLSince: 80016, MariaDBSince: 110000},
	{Kind: functionPrevious, MySQL: true, MariaDB: true},
	{Kind: functionPure, MySQL: true, MySQLSince: 90000},
	{Kind: functionPure, MySQL: true, MySQLSince: 80011},
	{Kind: functionPure, MySQL: true, MariaDBIf: ifArguments},
	{Kind: functionInstance, MySQL: true, MySQLSince: 90400},
	{Kind: functionLock, MySQL: true, MariaDB: true},
	{Kind: functionGrammar, MariaDB: true},
	{Kind: functionPure, MySQL: true, MySQLSince: 80001},
	{Kind: functionPure, MySQL: true, MySQLSince: 80004},
	{Kind: functionSideEffect, MySQL: true, MySQLSince: 80017},
	{Kind: functionSideEffect, MySQL: true, MySQLSince: 80030},
	{Kind: functionSideEffect, MySQL: true, MySQLSince: 80028},
	{Kind: functionPure, MariaDB: true, MariaDBSince: 110200},
	{Kind: functionPure, MySQL: true, MariaDB: true, NoSpace: true, NoSpaceMySQL: true, NoSpaceMariaDB: true, MySQLSince: 50722},
	{Kind: functionPure, MySQL: true, NoSpace: true, NoSpaceMySQL: true, MySQLSince: 90400},
	{Kind: functionPure, MariaDB: true, MariaDBSince: 100700},
	{Kind: functionPure, MySQL: true, MariaDB: true, MySQLSince: 50722},
	{Kind: functionPure, MySQL: true, MariaDB: true, MySQLSince: 80017, MariaDBSince: 100900},
	{Kind: functionPure, MySQL: true, MariaDB: true, MySQLSince: 80017, MariaDBSince: 110100},
	{Kind: functionPure, MySQL: true, MySQLSince: 80017},
	{Kind: functionPure, MySQL: true, MySQLSince: 80002},
	{Kind: functionPure, MySQL: true, MySQLSince: 50722},
	{Kind: functionGrammar, MySQL: true, MariaDBIf: ifInFrom, MySQLSince: 80004, MariaDBSince: 100600},
	{Kind: functionPure, MySQL: true, MariaDB: true, MySQLSince: 80021},
	{Kind: functionPure, MariaDB: true, MariaDBSince: 110300},
	{Kind: functionLastInsertID, MySQL: true, MariaDB: true},
	{Kind: functionPure, MySQL: true, MariaDB: true, MySQLSince: 80002},
	{Kind: functionSequence, MariaDB: true},
	{Kind: functionGrammar, MySQL: true, MySQLSince: 80014},
	{Kind: functionInstance, MySQL: true, MariaDB: true},
	{Kind: functionPure, MariaDB: true, MySQLUntil: 90600},
	{Kind: functionPure, MariaDB: true, NoSpace: true, NoSpaceMariaDB: true},
	{Kind: functionGrammar, MySQL: true, MySQLSince: 80017},
	{Kind: functionGrammar, MySQL: true, MariaDBIf: ifAfterAs, MySQLSince: 80001},
	{Kind: functionGrammar, MySQL: true, MariaDB: true, MySQLSince: 80002},
	{Kind: functionPure, MySQL: true, MariaDBIf: ifTwoArguments},
	{Kind: functionConnection, MySQL: true, MySQLSince: 80016},
	{Kind: functionPure, MySQL: true, MariaDB: true, MariaDBSince: 101000},
	{Kind: functionPure, MySQL: true, MariaDB: true, MySQLSince: 80004},
	{Kind: functionPure, MySQL: true, MariaDB: true, MySQLSince: 80001},
	{Kind: functionLock},
	{Kind: functionInstance, MySQL: true, MySQLSince: 80026},
	{Kind: functionGrammar, MySQL: true, MariaDBIf: ifSelectOption},
	{Kind: functionGrammar, MariaDBIf: ifSelectOption, MySQLUntil: 80000},
	{Kind: functionPure, MySQL: true, NoSpace: true, NoSpaceMySQL: true, MySQLSince: 80024},
	{Kind: functionPure, MySQL: true, MariaDB: true, MariaDBSince: 100600},
	{Kind: functionPure, MySQL: true, MySQLSince: 80023},
	{Kind: functionPure, MySQL: true, MariaDB: true, MySQLSince: 80011},
	{Kind: functionPure, MySQL: true, MySQLSince: 80012},
	{Kind: functionPure, MySQL: true, MySQLSince: 80024},
	{Kind: functionPure, MySQL: true, MySQLSince: 80013},
	{Kind: functionPure, MySQL: true, MariaDB: true, NoSpace: true, NoSpaceMySQL: true},
	{Kind: functionGrammar, MariaDBIf: ifAfterOf},
	{Kind: functionPure, MariaDB: true, MariaDBSince: 110700},
	{Kind: functionInstance, MySQL: true},
	{Kind: functionPure, MariaDB: true, MariaDBSince: 110800},
	{Kind: functionGrammar, MySQL: true, MySQLSince: 90000},
	{Kind: functionInstance, MySQL: true, MySQLSince: 90700},
	{Kind: functionInstance, MySQLUntil: 90000},
}

// functionWords are sorted; info is an index into functionInfos.
var functionWords = [760]struct {
	word string
	info uint8
}{
	{"abs", 0}, {"acos", 0}, {"add_months", 1}, {"adddate", 2}, {"addtime", 0}, {"aes_decrypt", 0},
	{"aes_encrypt", 0}, {"against", 3}, {"all", 4}, {"analyze", 4}, {"and", 4}, {"any", 4}, {"any_value", 5},
	{"area", 6}, {"as", 4}, {"asbinary", 6}, {"ascii", 0}, {"asin", 0}, {"astext", 6}, {"aswkb", 6}, {"aswkt", 6},
	{"asynchronous_connection_failover_add_managed", 7}, {"asynchronous_connection_failover_add_source", 8},
	{"asynchronous_connection_failover_delete_managed", 7}, {"asynchronous_connection_failover_delete_source", 8},
	{"asynchronous_connection_failover_reset", 9}, {"atan", 0}, {"atan2", 0}, {"audit_api_message_emit_udf", 10},
	{"audit_log_filter_flush", 10}, {"audit_log_read", 11}, {"audit_log_rotate", 10}, {"avg", 0},
	{"benchmark", 0}, {"bernoulli", 12}, {"between", 4}, {"bigint", 4}, {"bin", 0}, {"bin_to_uuid", 13},
	{"binary", 0}, {"binlog_gtid_pos", 14}, {"bit", 4}, {"bit_and", 2}, {"bit_count", 0}, {"bit_length", 0},
	{"bit_or", 2}, {"bit_xor", 2}, {"blob", 4}, {"both", 4}, {"boundary", 15}, {"buffer", 6}, {"by", 4},
	{"can_access_column", 16}, {"can_access_database", 16}, {"can_access_event", 16},
	{"can_access_resource_group", 16}, {"can_access_routine", 16}, {"can_access_table", 16},
	{"can_access_trigger", 16}, {"can_access_user", 16}, {"can_access_view", 16}, {"case", 4}, {"cast", 2},
	{"ceil", 0}, {"ceiling", 0}, {"centroid", 6}, {"char", 0}, {"char_length", 0}, {"character", 0},
	{"character_length", 0}, {"charset", 0}, {"chr", 15}, {"coalesce", 0}, {"coercibility", 0}, {"collation", 0},
	{"column_add", 15}, {"column_check", 15}, {"column_create", 15}, {"column_delete", 15}, {"column_exists", 15},
	{"column_get", 15}, {"column_json", 15}, {"column_list", 15}, {"columns", 3}, {"compress", 0}, {"concat", 0},
	{"concat_operator_oracle", 15}, {"concat_ws", 0}, {"connection_id", 17}, {"contains", 6}, {"conv", 0},
	{"convert", 0}, {"convert_cpu_id_mask", 16}, {"convert_interval_to_user_interval", 16}, {"convert_tz", 0},
	{"convexhull", 6}, {"cos", 0}, {"cot", 0}, {"count", 2}, {"crc32", 0}, {"crc32c", 18}, {"crosses", 6},
	{"cube", 12}, {"cume_dist", 19}, {"curdate", 2}, {"current_date", 0}, {"current_role", 20},
	{"current_role_in", 21}, {"current_time", 0}, {"current_timestamp", 0}, {"current_user", 0},
	{"current_user_in", 21}, {"curtime", 2}, {"database", 0}, {"date", 0}, {"date_add", 2}, {"date_format", 0},
	{"date_sub", 2}, {"datediff", 0}, {"datetime", 4}, {"day", 0}, {"dayname", 0}, {"dayofmonth", 0},
	{"dayofweek", 0}, {"dayofyear", 0}, {"dec", 4}, {"decimal", 4}, {"decode", 6}, {"decode_histogram", 15},
	{"decode_oracle", 15}, {"default", 0}, {"degrees", 0}, {"dense_rank", 19}, {"des_decrypt", 6},
	{"des_encrypt", 6}, {"desc", 4}, {"describe", 4}, {"dimension", 6}, {"disjoint", 6}, {"distinct", 4},
	{"distinctrow", 4}, {"div", 4}, {"double", 4}, {"else", 4}, {"elt", 0}, {"encode", 6}, {"encrypt", 6},
	{"endpoint", 6}, {"enum", 22}, {"envelope", 6}, {"equals", 6}, {"escape", 3}, {"etag", 23}, {"except", 24},
	{"exists", 4}, {"exp", 0}, {"explain", 4}, {"export_set", 0}, {"exteriorring", 6}, {"extract", 2},
	{"extractvalue", 17}, {"field", 0}, {"fields", 3}, {"find_in_set", 0}, {"first_value", 19}, {"fixed", 4},
	{"float", 4}, {"float4", 4}, {"float8", 4}, {"floor", 0}, {"flush_rewrite_cache", 10}, {"for", 4},
	{"format", 0}, {"format_bytes", 25}, {"format_pico_time", 26}, {"found_rows", 27}, {"from", 4},
	{"from_base64", 0}, {"from_days", 0}, {"from_unixtime", 0}, {"from_vector", 28}, {"geomcollection", 29},
	{"geomcollfromtext", 6}, {"geomcollfromwkb", 6}, {"geometrycollection", 30},
	{"geometrycollectionfromtext", 6}, {"geometrycollectionfromwkb", 6}, {"geometryfromtext", 6},
	{"geometryfromwkb", 6}, {"geometryn", 6}, {"geometrytype", 6}, {"geomfromtext", 6}, {"geomfromwkb", 6},
	{"get_dd_column_privileges", 16}, {"get_dd_create_options", 16}, {"get_dd_index_private_data", 16},
	{"get_dd_index_sub_part_length", 16}, {"get_dd_property_key_value", 16}, {"get_dd_schema_options", 16},
	{"get_dd_tablespace_private_data", 16}, {"get_format", 0}, {"get_jdv_property_key_value", 31},
	{"get_lock", 32}, {"glength", 6}, {"greatest", 0}, {"group", 33}, {"group_concat", 2},
	{"group_replication_disable_member_action", 10}, {"group_replication_enable_member_action", 10},
	{"group_replication_get_communication_protocol", 11}, {"group_replication_get_write_concurrency", 11},
	{"group_replication_reset_member_actions", 10}, {"group_replication_set_as_primary", 10},
	{"group_replication_set_communication_protocol", 10}, {"group_replication_set_write_concurrency", 10},
	{"group_replication_switch_to_multi_primary_mode", 10},
	{"group_replication_switch_to_single_primary_mode", 10}, {"grouping", 34}, {"gtid_subset", 5},
	{"gtid_subtract", 5}, {"having", 4}, {"hex", 0}, {"high_priority", 4}, {"hour", 0}, {"icu_version", 35},
	{"if", 0}, {"ifnull", 0}, {"in", 4}, {"index", 4}, {"inet6_aton", 0}, {"inet6_ntoa", 0}, {"inet_aton", 0},
	{"inet_ntoa", 0}, {"innodb_redo_log_archive_flush", 36}, {"innodb_redo_log_archive_start", 36},
	{"innodb_redo_log_archive_stop", 36}, {"innodb_redo_log_consumer_advance", 37},
	{"innodb_redo_log_consumer_register", 37}, {"innodb_redo_log_consumer_unregister", 37},
	{"innodb_redo_log_sharp_checkpoint", 37}, {"innodb_set_open_files_limit", 38}, {"insert", 0}, {"instr", 0},
	{"int", 4}, {"int1", 4}, {"int2", 4}, {"int3", 4}, {"int4", 4}, {"int8", 4}, {"integer", 4},
	{"interiorringn", 6}, {"internal_auto_increment", 16}, {"internal_avg_row_length", 16},
	{"internal_check_time", 16}, {"internal_checksum", 16}, {"internal_data_free", 16},
	{"internal_data_length", 16}, {"internal_dd_char_length", 16}, {"internal_get_comment_or_error", 16},
	{"internal_get_dd_column_extra", 16}, {"internal_get_enabled_role_json", 16}, {"internal_get_hostname", 16},
	{"internal_get_mandatory_roles_json", 16}, {"internal_get_partition_nodegroup", 16},
	{"internal_get_username", 16}, {"internal_get_view_warning_or_error", 16},
	{"internal_index_column_cardinality", 16}, {"internal_index_length", 16}, {"internal_is_enabled_role", 16},
	{"internal_is_mandatory_role", 16}, {"internal_keys_disabled", 16}, {"internal_max_data_length", 16},
	{"internal_table_rows", 16}, {"internal_tablespace_autoextend_size", 16},
	{"internal_tablespace_data_free", 16}, {"internal_tablespace_extent_size", 16},
	{"internal_tablespace_extra", 16}, {"internal_tablespace_free_extents", 16}, {"internal_tablespace_id", 16},
	{"internal_tablespace_initial_size", 16}, {"internal_tablespace_logfile_group_name", 16},
	{"internal_tablespace_logfile_group_number", 16}, {"internal_tablespace_maximum_size", 16},
	{"internal_tablespace_row_format", 16}, {"internal_tablespace_status", 16},
	{"internal_tablespace_total_extents", 16}, {"internal_tablespace_type", 16},
	{"internal_tablespace_version", 16}, {"internal_update_time", 16}, {"internal_use_terminology_previous", 16},
	{"intersect", 24}, {"intersects", 6}, {"interval", 0}, {"is_free_lock", 32}, {"is_ipv4", 0},
	{"is_ipv4_compat", 0}, {"is_ipv4_mapped", 0}, {"is_ipv6", 0}, {"is_used_lock", 32}, {"is_uuid", 13},
	{"is_visible_dd_object", 16}, {"isclosed", 6}, {"isempty", 6}, {"isnull", 0}, {"isring", 15}, {"issimple", 6},
	{"join", 4}, {"json_array", 0}, {"json_array_append", 0}, {"json_array_insert", 0},
	{"json_array_intersect", 39}, {"json_arrayagg", 40}, {"json_compact", 15}, {"json_contains", 0},
	{"json_contains_path", 0}, {"json_depth", 0}, {"json_detailed", 15}, {"json_duality_object", 41},
	{"json_equals", 42}, {"json_exists", 15}, {"json_extract", 0}, {"json_insert", 0}, {"json_key_value", 39},
	{"json_keys", 0}, {"json_length", 0}, {"json_loose", 15}, {"json_merge", 0}, {"json_merge_patch", 43},
	{"json_merge_preserve", 43}, {"json_normalize", 42}, {"json_object", 0}, {"json_object_filter_keys", 39},
	{"json_object_to_array", 39}, {"json_objectagg", 40}, {"json_overlaps", 44}, {"json_pretty", 43},
	{"json_query", 15}, {"json_quote", 0}, {"json_remove", 0}, {"json_replace", 0}, {"json_schema_valid", 45},
	{"json_schema_validation_report", 46}, {"json_search", 0}, {"json_set", 0}, {"json_storage_free", 47},
	{"json_storage_size", 48}, {"json_table", 49}, {"json_type", 0}, {"json_unquote", 0}, {"json_valid", 0},
	{"json_value", 50}, {"kdf", 51}, {"key", 4}, {"keyring_key_generate", 10}, {"keyring_key_remove", 10},
	{"keyring_key_store", 10}, {"lag", 19}, {"last_day", 0}, {"last_insert_id", 52}, {"last_value", 53},
	{"lastval", 54}, {"lateral", 55}, {"lcase", 0}, {"lead", 19}, {"leading", 4}, {"least", 0}, {"left", 0},
	{"length", 0}, {"lengthb", 15}, {"like", 4}, {"linefromtext", 6}, {"linefromwkb", 6}, {"linestring", 30},
	{"linestringfromtext", 6}, {"linestringfromwkb", 6}, {"ln", 0}, {"load_file", 56}, {"load_rewrite_rules", 10},
	{"localtime", 0}, {"localtimestamp", 0}, {"locate", 0}, {"log", 0}, {"log10", 0}, {"log2", 0}, {"lower", 0},
	{"lpad", 0}, {"lpad_oracle", 15}, {"ltrim", 0}, {"ltrim_oracle", 15}, {"make_set", 0}, {"makedate", 0},
	{"maketime", 0}, {"master_gtid_wait", 14}, {"master_pos_wait", 56}, {"match", 0}, {"max", 2},
	{"mbrcontains", 0}, {"mbrcoveredby", 5}, {"mbrcovers", 5}, {"mbrdisjoint", 0}, {"mbrequal", 6},
	{"mbrequals", 0}, {"mbrintersects", 0}, {"mbroverlaps", 0}, {"mbrtouches", 0}, {"mbrwithin", 0}, {"md5", 57},
	{"median", 58}, {"mediumint", 4}, {"member", 59}, {"microsecond", 0}, {"mid", 2}, {"middleint", 4},
	{"min", 2}, {"minute", 0}, {"mlinefromtext", 6}, {"mlinefromwkb", 6}, {"mod", 0}, {"month", 0},
	{"monthname", 0}, {"mpointfromtext", 6}, {"mpointfromwkb", 6}, {"mpolyfromtext", 6}, {"mpolyfromwkb", 6},
	{"multilinestring", 30}, {"multilinestringfromtext", 6}, {"multilinestringfromwkb", 6}, {"multipoint", 30},
	{"multipointfromtext", 6}, {"multipointfromwkb", 6}, {"multipolygon", 30}, {"multipolygonfromtext", 6},
	{"multipolygonfromwkb", 6}, {"mysql_firewall_flush_status", 10}, {"name_const", 0}, {"natural_sort_key", 42},
	{"nchar", 4}, {"nextval", 54}, {"not", 4}, {"now", 2}, {"nth_value", 19}, {"ntile", 19}, {"nullif", 0},
	{"numeric", 4}, {"numgeometries", 6}, {"numinteriorrings", 6}, {"numpoints", 6}, {"nvarchar", 4}, {"nvl", 15},
	{"nvl2", 15}, {"oct", 0}, {"octet_length", 0}, {"of", 60}, {"old_password", 15}, {"on", 4}, {"or", 4},
	{"ord", 0}, {"over", 61}, {"overlaps", 6}, {"partition", 4}, {"password", 6}, {"percent_rank", 19},
	{"percentile_cont", 58}, {"percentile_disc", 58}, {"period_add", 0}, {"period_diff", 0}, {"pi", 0},
	{"point", 62}, {"pointfromtext", 6}, {"pointfromwkb", 6}, {"pointn", 6}, {"pointonsurface", 15},
	{"polyfromtext", 6}, {"polyfromwkb", 6}, {"polygon", 30}, {"polygonfromtext", 6}, {"polygonfromwkb", 6},
	{"position", 2}, {"pow", 0}, {"power", 0}, {"precision", 4}, {"ps_current_thread_id", 63},
	{"ps_thread_id", 63}, {"qualify", 12}, {"quarter", 0}, {"quote", 0}, {"radians", 0}, {"rand", 0},
	{"random_bytes", 64}, {"rank", 19}, {"real", 4}, {"regexp", 4}, {"regexp_instr", 65}, {"regexp_like", 35},
	{"regexp_replace", 65}, {"regexp_substr", 65}, {"release_all_locks", 32}, {"release_lock", 32},
	{"remove_dd_property_key", 16}, {"repeat", 0}, {"replace", 0}, {"replace_oracle", 15}, {"reverse", 0},
	{"right", 0}, {"rlike", 4}, {"roles_graphml", 16}, {"rollup", 12}, {"round", 0}, {"row", 66},
	{"row_count", 27}, {"row_number", 53}, {"rownum", 1}, {"rpad", 0}, {"rpad_oracle", 15}, {"rtrim", 0},
	{"rtrim_oracle", 15}, {"schema", 0}, {"sec_to_time", 0}, {"second", 0}, {"select", 4},
	{"service_get_read_locks", 67}, {"service_get_write_locks", 67}, {"service_release_locks", 67},
	{"session_user", 2}, {"set", 22}, {"set_firewall_mode", 10}, {"setval", 54}, {"sformat", 42}, {"sha", 57},
	{"sha1", 57}, {"sha2", 0}, {"sign", 0}, {"sin", 0}, {"sleep", 0}, {"smallint", 4}, {"some", 4},
	{"soundex", 0}, {"source_pos_wait", 68}, {"space", 0}, {"sql_big_result", 4}, {"sql_buffer_result", 69},
	{"sql_cache", 70}, {"sql_calc_found_rows", 4}, {"sql_no_cache", 69}, {"sql_small_result", 4},
	{"sql_tsi_day", 0}, {"sql_tsi_hour", 0}, {"sql_tsi_minute", 0}, {"sql_tsi_month", 0}, {"sql_tsi_quarter", 5},
	{"sql_tsi_second", 0}, {"sql_tsi_week", 5}, {"sql_tsi_year", 0}, {"sqrt", 0}, {"srid", 6}, {"st_area", 0},
	{"st_asbinary", 0}, {"st_asgeojson", 0}, {"st_astext", 0}, {"st_aswkb", 0}, {"st_aswkt", 0},
	{"st_boundary", 15}, {"st_buffer", 0}, {"st_buffer_strategy", 5}, {"st_centroid", 0}, {"st_collect", 71},
	{"st_contains", 0}, {"st_convexhull", 0}, {"st_crosses", 0}, {"st_difference", 0}, {"st_dimension", 0},
	{"st_disjoint", 0}, {"st_distance", 0}, {"st_distance_sphere", 72}, {"st_endpoint", 0}, {"st_envelope", 0},
	{"st_equals", 0}, {"st_exteriorring", 0}, {"st_frechetdistance", 73}, {"st_geohash", 5},
	{"st_geomcollfromtext", 0}, {"st_geomcollfromtxt", 5}, {"st_geomcollfromwkb", 0},
	{"st_geometrycollectionfromtext", 0}, {"st_geometrycollectionfromwkb", 0}, {"st_geometryfromtext", 0},
	{"st_geometryfromwkb", 74}, {"st_geometryn", 0}, {"st_geometrytype", 0}, {"st_geomfromgeojson", 0},
	{"st_geomfromtext", 0}, {"st_geomfromwkb", 0}, {"st_hausdorffdistance", 73}, {"st_interiorringn", 0},
	{"st_intersection", 0}, {"st_intersects", 0}, {"st_isclosed", 0}, {"st_isempty", 0}, {"st_isring", 15},
	{"st_issimple", 0}, {"st_isvalid", 5}, {"st_latfromgeohash", 5}, {"st_latitude", 75}, {"st_length", 0},
	{"st_linefromtext", 0}, {"st_linefromwkb", 0}, {"st_lineinterpolatepoint", 76},
	{"st_lineinterpolatepoints", 76}, {"st_linestringfromtext", 74}, {"st_linestringfromwkb", 0},
	{"st_longfromgeohash", 5}, {"st_longitude", 75}, {"st_makeenvelope", 5}, {"st_mlinefromtext", 0},
	{"st_mlinefromwkb", 0}, {"st_mpointfromtext", 0}, {"st_mpointfromwkb", 0}, {"st_mpolyfromtext", 0},
	{"st_mpolyfromwkb", 0}, {"st_multilinestringfromtext", 0}, {"st_multilinestringfromwkb", 0},
	{"st_multipointfromtext", 0}, {"st_multipointfromwkb", 0}, {"st_multipolygonfromtext", 0},
	{"st_multipolygonfromwkb", 0}, {"st_numgeometries", 0}, {"st_numinteriorring", 29},
	{"st_numinteriorrings", 0}, {"st_numpoints", 0}, {"st_overlaps", 0}, {"st_pointatdistance", 76},
	{"st_pointfromgeohash", 5}, {"st_pointfromtext", 0}, {"st_pointfromwkb", 0}, {"st_pointn", 0},
	{"st_pointonsurface", 15}, {"st_polyfromtext", 0}, {"st_polyfromwkb", 0}, {"st_polygonfromtext", 0},
	{"st_polygonfromwkb", 0}, {"st_relate", 15}, {"st_simplify", 5}, {"st_srid", 0}, {"st_startpoint", 0},
	{"st_swapxy", 75}, {"st_symdifference", 0}, {"st_touches", 0}, {"st_transform", 77}, {"st_union", 0},
	{"st_validate", 5}, {"st_within", 0}, {"st_x", 0}, {"st_y", 0}, {"startpoint", 6}, {"statement_digest", 35},
	{"statement_digest_text", 35}, {"std", 2}, {"stddev", 2}, {"stddev_pop", 2}, {"stddev_samp", 2},
	{"str_to_date", 0}, {"straight_join", 4}, {"strcmp", 0}, {"string_to_vector", 28}, {"subdate", 2},
	{"substr", 2}, {"substr_oracle", 15}, {"substring", 2}, {"substring_index", 0}, {"subtime", 0}, {"sum", 2},
	{"sys_guid", 1}, {"sysdate", 78}, {"system", 12}, {"system_user", 2}, {"tan", 0}, {"text", 4}, {"then", 4},
	{"time", 0}, {"time_format", 0}, {"time_to_sec", 0}, {"timediff", 0}, {"timestamp", 0}, {"timestampadd", 0},
	{"timestampdiff", 0}, {"tinyint", 4}, {"to", 33}, {"to_base64", 0}, {"to_char", 1}, {"to_days", 0},
	{"to_seconds", 0}, {"to_vector", 28}, {"touches", 6}, {"trailing", 4}, {"transaction", 79}, {"trim", 2},
	{"trim_oracle", 58}, {"truncate", 0}, {"ucase", 0}, {"uncompress", 0}, {"uncompressed_length", 0},
	{"unhex", 0}, {"union", 4}, {"unique", 33}, {"unix_timestamp", 0}, {"updatexml", 17}, {"upper", 0},
	{"user", 0}, {"using", 4}, {"utc_date", 0}, {"utc_time", 0}, {"utc_timestamp", 0}, {"uuid", 0},
	{"uuid_short", 0}, {"uuid_to_bin", 13}, {"uuid_v4", 80}, {"uuid_v7", 80}, {"validate_password_strength", 81},
	{"value", 15}, {"values", 0}, {"var_pop", 2}, {"var_samp", 2}, {"varbinary", 4}, {"varchar", 4},
	{"varcharacter", 4}, {"variance", 2}, {"varying", 4}, {"vec_distance", 82}, {"vec_distance_cosine", 80},
	{"vec_distance_euclidean", 80}, {"vec_fromtext", 80}, {"vec_totext", 80}, {"vector", 83}, {"vector_dim", 28},
	{"vector_to_string", 28}, {"version", 0}, {"version_tokens_delete", 10}, {"version_tokens_edit", 10},
	{"version_tokens_lock_exclusive", 67}, {"version_tokens_lock_shared", 67}, {"version_tokens_set", 10},
	{"version_tokens_unlock", 67}, {"version_with_update", 84}, {"wait_for_executed_gtid_set", 81},
	{"wait_until_sql_thread_after_gtids", 85}, {"week", 0}, {"weekday", 0}, {"weekofyear", 0},
	{"weight_string", 0}, {"when", 4}, {"where", 4}, {"within", 6}, {"wsrep_last_seen_gtid", 14},
	{"wsrep_last_written_gtid", 14}, {"wsrep_sync_wait_upto_gtid", 14}, {"x", 6}, {"xor", 4}, {"y", 6},
	{"year", 0}, {"yearweek", 0},
}
