package lochan.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.distributions.Distribution;
import org.apache.spark.sql.connector.distributions.Distributions;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.SortDirection;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.DeltaBatchWrite;
import org.apache.spark.sql.connector.write.DeltaWrite;
import org.apache.spark.sql.connector.write.DeltaWriter;
import org.apache.spark.sql.connector.write.DeltaWriterFactory;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.RequiresDistributionAndOrdering;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/**
 * The write of a statement that changes rows. All changes of a data object come to one task, which replaces the object;
 * the commit lands where all replaced objects are still there.
 */
final class RowChangeWrite implements DeltaWrite, RequiresDistributionAndOrdering {
  private final RowChangeColumns columns;
  private final Map<String, String> options;

  RowChangeWrite(RowChangeColumns columns, Map<String, String> options, String command, String commit) {
    this.columns = columns;
    this.options = new HashMap<>(options);
    this.options.put("changeRows", command);
    this.options.put("readAt", commit);
  }

  @Override
  public String description() {
    return "lochan rows of " + options.get("path");
  }

  @Override
  public Distribution requiredDistribution() {
    return Distributions.clustered(new Expression[] {Expressions.column(MetadataColumns.OBJECT)});
  }

  @Override
  public SortOrder[] requiredOrdering() {
    return new SortOrder[] {Expressions.sort(Expressions.column(MetadataColumns.OBJECT), SortDirection.ASCENDING)};
  }

  @Override
  public DeltaBatchWrite toBatch() {
    return new Batch(PythonSource.write(columns.written(), options), columns);
  }

  private record Batch(BatchWrite python, RowChangeColumns columns) implements DeltaBatchWrite {
    @Override
    public DeltaWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
      return new Factory(python.createBatchWriterFactory(info), columns);
    }

    @Override
    public boolean useCommitCoordinator() {
      return python.useCommitCoordinator();
    }

    @Override
    public void commit(WriterCommitMessage[] messages) {
      python.commit(messages);
    }

    @Override
    public void abort(WriterCommitMessage[] messages) {
      python.abort(messages);
    }
  }

  private record Factory(DataWriterFactory python, RowChangeColumns columns) implements DeltaWriterFactory {
    @Override
    public DeltaWriter<InternalRow> createWriter(int partition, long task) {
      try {
        return new RowChangeWriter(python.createWriter(partition, task), columns);
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }
  }
}
