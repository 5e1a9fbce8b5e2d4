"""The columns of a batch of changes, before those of the table. The code in the JVM writes the same ones.

#operation   DELETE, UPDATE or INSERT
#object      the path of the data object; NULL if the row is new
#row         its number there
#fields      numbers of the columns that an update gives another value, from 0 for the first of the table"""

DELETE, UPDATE, INSERT = 0, 1, 2
CHANGE_COLUMNS = ("#operation", "#object", "#row", "#fields")
OPERATION, OBJECT, ROW, FIELDS = range(4)
