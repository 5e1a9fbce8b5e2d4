package lochan.spark;

import java.util.Map;
import java.util.UUID;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.LogicalWriteInfoImpl;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The source in Python, for what is not done here: it writes rows, and reads files that Spark itself cannot read. */
public final class PythonSource extends PythonDataSourceV2 {
  static final String NAME = "lochan"; // as Python registers it

  public PythonSource() {
    super.setShortName(NAME);
  }

  /** Spark would take the name of this class for that of the source. */
  @Override
  public void setShortName(String given) {}

  /** The begun write of rows with these columns. Its messages are its own. */
  static BatchWrite write(StructType columns, Map<String, String> options) {
    var given = new CaseInsensitiveStringMap(options);
    Table table = new PythonSource().getTable(columns, new Transform[0], given.asCaseSensitiveMap());
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
