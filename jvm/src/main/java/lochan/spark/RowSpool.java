package lochan.spark;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Rows of a task on its machine's disk, in the folder that Spark spills to.
 *
 * <p>Spark hands changes over one by one, and Python takes all rows of a task at once: between the two they lie here.
 */
final class RowSpool implements AutoCloseable {
  private static final int BUFFER_BYTES = 1 << 20;

  private final File file;
  private final int columns;
  private final DataOutputStream sink;
  private DataInputStream source;

  RowSpool(int columns) throws IOException {
    this.columns = columns;
    this.file = SparkEnv.get().blockManager().diskBlockManager().createTempLocalBlock()._2();
    this.sink = new DataOutputStream(new BufferedOutputStream(new FileOutputStream(file), BUFFER_BYTES));
  }

  void add(UnsafeRow row) throws IOException {
    byte[] bytes = row.getBytes();
    sink.writeInt(bytes.length);
    sink.write(bytes);
  }

  /** Once, when all rows are there. */
  Iterator<InternalRow> rows() throws IOException {
    sink.close();
    source = new DataInputStream(new BufferedInputStream(new FileInputStream(file), BUFFER_BYTES));
    return new Iterator<>() {
      private UnsafeRow next = read();

      @Override
      public boolean hasNext() {
        return next != null;
      }

      @Override
      public InternalRow next() {
        if (next == null) {
          throw new NoSuchElementException();
        }
        UnsafeRow row = next;
        next = read();
        return row;
      }
    };
  }

  private UnsafeRow read() {
    try {
      byte[] bytes = new byte[source.readInt()];
      source.readFully(bytes);
      UnsafeRow row = new UnsafeRow(columns);
      row.pointTo(bytes, bytes.length);
      return row;
    } catch (EOFException end) {
      return null;
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  @Override
  public void close() throws IOException {
    sink.close();
    if (source != null) {
      source.close();
    }
    file.delete();
  }
}
