package lochan.spark;

import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DeltaWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;

/**
 * Changes of a task. Each becomes a row for Python: the operation, the data object and the number of the row there, the
 * columns that an update gives another value, and the values.
 */
final class RowChangeWriter implements DeltaWriter<InternalRow> {
  private static final int DELETE = 0;
  private static final int UPDATE = 1;
  private static final int INSERT = 2;

  private final DataWriter<InternalRow> python;
  private final RowChangeColumns columns;
  private final UnsafeProjection projection;
  private final RowSpool spool;

  RowChangeWriter(DataWriter<InternalRow> python, RowChangeColumns columns) throws IOException {
    this.python = python;
    this.columns = columns;
    StructType written = columns.written();
    this.projection = UnsafeProjection.create(written);
    this.spool = new RowSpool(written.size());
  }

  @Override
  public void delete(InternalRow metadata, InternalRow id) throws IOException {
    add(DELETE, id, null, new GenericInternalRow(columns.values().size()));
  }

  @Override
  public void update(InternalRow metadata, InternalRow id, InternalRow row) throws IOException {
    add(UPDATE, id, changed(metadata.getStruct(columns.before(), columns.values().size()), row), row);
  }

  @Override
  public void insert(InternalRow row) throws IOException {
    add(INSERT, null, null, row);
  }

  private void add(int operation, InternalRow id, GenericArrayData fields, InternalRow row) throws IOException {
    Object object = id == null ? null : id.getUTF8String(columns.object());
    Object number = id == null ? null : (Object) id.getLong(columns.row());
    var control = new GenericInternalRow(new Object[] {operation, object, number, fields});
    spool.add(projection.apply(new JoinedRow(control, row)));
  }

  /** The columns that get another value. What stays is not read from the frame, where it may look different. */
  private GenericArrayData changed(InternalRow before, InternalRow row) {
    int[] found = new int[columns.values().size()];
    int count = 0;
    for (int i = 0; i < found.length; i++) {
      var type = columns.values().apply(i).dataType();
      Object old = before.isNullAt(i) ? null : before.get(i, type);
      Object given = row.isNullAt(i) ? null : row.get(i, type);
      if (!Values.same(old, given, type)) {
        found[count++] = i;
      }
    }
    return new GenericArrayData(java.util.Arrays.copyOf(found, count));
  }

  @Override
  public WriterCommitMessage commit() throws IOException {
    python.writeAll(spool.rows());
    return python.commit();
  }

  @Override
  public void abort() throws IOException {
    python.abort();
  }

  @Override
  public void close() throws IOException {
    spool.close();
    python.close();
  }
}
