package lochan.spark;

import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.jdk.javaapi.CollectionConverters;

/**
 * {@code format("lochan")}: Spark's own scan of a pool's Parquet files, and writes in every mode.
 *
 * <p>Spark makes one of these for each frame that is read or written.
 */
public class SourceProvider implements TableProvider, CreatableRelationProvider {
  private SourceTable inferred;

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    Map<String, String> given = options.asCaseSensitiveMap();
    inferred = isFiles(options) ? SourceTable.ofPython(given) : SourceTable.of(given);
    return inferred.schema();
  }

  /** A schema that was not inferred here is the user's own, or that of a frame to be written. */
  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> options) {
    if (inferred != null) {
      return inferred;
    }
    boolean files = isFiles(new CaseInsensitiveStringMap(options));
    return files ? SourceTable.ofPython(options, schema) : SourceTable.of(options, schema);
  }

  /** A path behind the ref is one of files in a repository: `sales@main/2026/`. */
  private static boolean isFiles(CaseInsensitiveStringMap options) {
    return options.getOrDefault("path", "").contains("/");
  }

  @Override
  public boolean supportsExternalMetadata() {
    return true;
  }

  /** A write. Spark comes here for every mode, because the table has no batch write of its own. */
  @Override
  public BaseRelation createRelation(
      SQLContext context, SaveMode mode, scala.collection.immutable.Map<String, String> options, Dataset<Row> rows) {
    new SourceWrite(asWritten(options), mode).insert(rows);
    return new WrittenRelation(context, rows.schema());
  }

  /** Which types cannot be kept is said by the writer, with the name of the column. */
  @Override
  public boolean supportsDataType(DataType type) {
    return true;
  }

  @Override
  public String toString() {
    return PythonSource.NAME;
  }

  /** What a commit carries has names of its user's own, which Spark would have in small letters. */
  private static Map<String, String> asWritten(scala.collection.immutable.Map<String, String> options) {
    if (options instanceof CaseInsensitiveMap<String> known) {
      return CollectionConverters.asJava(known.originalMap());
    }
    return CollectionConverters.asJava(options);
  }

  private static final class WrittenRelation extends BaseRelation {
    private final SQLContext context;
    private final StructType schema;

    WrittenRelation(SQLContext context, StructType schema) {
      this.context = context;
      this.schema = schema;
    }

    @Override
    public SQLContext sqlContext() {
      return context;
    }

    @Override
    public StructType schema() {
      return schema;
    }
  }
}
