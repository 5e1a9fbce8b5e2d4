package lochan.spark;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.connector.write.V1Write;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.execution.datasources.DataSourceUtils;
import org.apache.spark.sql.sources.InsertableRelation;
import scala.jdk.javaapi.CollectionConverters;

/** Rows of a frame as one commit, in any mode of Spark. The tasks write them by the source in Python. */
final class SourceWrite implements V1Write {
  private static final String PARTITION_BY = "partitionBy";
  private static final String SAVE_MODE = "saveMode";

  private final Map<String, String> options;
  private final List<String> partitions; // columns, as `partitionBy` of a writer names them
  private final SaveMode mode;
  private final Supplier<Write> stream;

  SourceWrite(Map<String, String> options, SaveMode mode) {
    this(options, mode, () -> null);
  }

  SourceWrite(Map<String, String> options, SaveMode mode, Supplier<Write> stream) {
    this.options = new HashMap<>(options);
    String columns = this.options.remove(DataSourceUtils.PARTITIONING_COLUMNS_KEY());
    this.partitions = columns == null ? List.of() : names(columns);
    if (columns != null) {
      this.options.put(PARTITION_BY, columns);
    }
    this.mode = mode;
    this.stream = stream;
  }

  @Override
  public InsertableRelation toInsertableRelation() {
    return (rows, overwrite) -> insert(rows);
  }

  @Override
  public StreamingWrite toStreaming() {
    return stream.get().toStreaming();
  }

  private static List<String> names(String columns) {
    return CollectionConverters.asJava(DataSourceUtils.decodePartitioningColumns(columns));
  }

  void insert(Dataset<Row> rows) {
    Map<String, String> all = new HashMap<>(options);
    if (mode == SaveMode.Ignore || mode == SaveMode.ErrorIfExists) {
      all.put(SAVE_MODE, mode.name());
    }
    ObjectNode request = SourceTable.request("check_write", all).put("overwrite", mode == SaveMode.Overwrite);
    if (SourceTable.ask(request).get("done").asBoolean()) {
      return; // it is there, and is left as it is
    }
    SaveMode by = mode == SaveMode.Overwrite ? SaveMode.Overwrite : SaveMode.Append;
    sorted(rows).write().format(PythonSource.class.getName()).options(all).mode(by).save();
  }

  /** By the columns of their partitions, so that a task writes one file at a time. */
  private Dataset<Row> sorted(Dataset<Row> rows) {
    Column[] columns = partitions.stream().map(FilterColumn::named).toArray(Column[]::new);
    return columns.length == 0 ? rows : rows.sortWithinPartitions(columns);
  }
}
