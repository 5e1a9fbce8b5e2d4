package lochan.spark;

import java.util.Map;
import java.util.UUID;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.LogicalWriteInfoImpl;
import org.apache.spark.sql.execution.datasources.DataSource$;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The data source `lochan`, which is written in Python: its tasks write data objects, and its commit lands them. */
final class PythonSource {
  static final String NAME = "lochan";

  private PythonSource() {}

  /** The begun write of rows with these columns. Its messages are its own. */
  static BatchWrite write(StructType columns, Map<String, String> options) {
    var conf = ((SparkSession) SparkSession.active()).sessionState().conf();
    TableProvider provider = DataSource$.MODULE$.lookupDataSourceV2(NAME, conf).get();
    var given = new CaseInsensitiveStringMap(options);
    Table table = provider.getTable(columns, new Transform[0], given.asCaseSensitiveMap());
    var info =
        LogicalWriteInfoImpl.apply(
            UUID.randomUUID().toString(),
            columns,
            given,
            java.util.Optional.<StructType>empty(),
            java.util.Optional.<StructType>empty());
    return ((SupportsWrite) table).newWriteBuilder(info).build().toBatch();
  }
}
