package lochan.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.DeltaWrite;
import org.apache.spark.sql.connector.write.DeltaWriteBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsDelta;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** DELETE, UPDATE or MERGE INTO of a pool. A row is known by its data object and its number there. */
final class RowLevelStatement implements SupportsDelta {
  private final LochanTable table;
  private final Command command;
  private final Map<String, String> options;

  RowLevelStatement(LochanTable table, Command command, Map<String, String> options) {
    this.table = table;
    this.command = command;
    this.options = options;
  }

  @Override
  public Command command() {
    return command;
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap given) {
    return table.newScanBuilder(given);
  }

  @Override
  public NamedReference[] rowId() {
    return new NamedReference[] {
      Expressions.column(MetadataColumns.OBJECT), Expressions.column(MetadataColumns.ROW)
    };
  }

  @Override
  public NamedReference[] requiredMetadataAttributes() {
    return command == Command.DELETE
        ? new NamedReference[0]
        : new NamedReference[] {Expressions.column(MetadataColumns.BEFORE)};
  }

  @Override
  public DeltaWriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    Map<String, String> all = new HashMap<>(options);
    all.putAll(info.options().asCaseSensitiveMap());
    all.put("path", table.target());
    return new DeltaWriteBuilder() {
      @Override
      public DeltaWrite build() {
        return new RowChangeWrite(RowChangeColumns.of(info), all, command.name().toLowerCase(), table.commit());
      }
    };
  }
}
