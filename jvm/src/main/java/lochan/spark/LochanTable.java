package lochan.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsDelete;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsRowLevelOperations;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperationBuilder;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.sources.AlwaysTrue;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A pool, or a folder of files, at a commit: whatever comes to its branch later, a frame of it stays. */
final class LochanTable
    implements SupportsRead, SupportsWrite, SupportsDelete, SupportsMetadataColumns, SupportsRowLevelOperations {
  private final Planner planner;
  private final Map<String, String> options;
  private final String catalog;
  private final String uri; // with the commit
  private final String target; // with the branch that rows are written to
  private final List<String> key;
  private final StructType schema;

  LochanTable(Planner planner, Map<String, String> options, String catalog, JsonNode loaded) {
    this.planner = planner;
    this.options = options;
    this.catalog = catalog;
    this.uri = loaded.get("uri").asText();
    this.target = loaded.get("target").asText();
    this.key = texts(loaded.get("key"));
    this.schema = (StructType) DataType.fromJson(loaded.get("schema").asText());
  }

  @Override
  public String name() {
    return catalog + "." + target;
  }

  @Override
  public StructType schema() {
    return schema;
  }

  @Override
  public Map<String, String> properties() {
    return Map.of("provider", "lochan", "key", String.join(",", key), "commit", commit());
  }

  @Override
  public Set<TableCapability> capabilities() {
    return Set.of(
        TableCapability.BATCH_READ,
        TableCapability.V1_BATCH_WRITE,
        TableCapability.TRUNCATE,
        TableCapability.OVERWRITE_BY_FILTER);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap given) {
    return new LochanScanBuilder(planner, uri, schema);
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return new LochanWriteBuilder(planner, uri, target, key, options, info.options().asCaseSensitiveMap());
  }

  @Override
  public MetadataColumn[] metadataColumns() {
    return MetadataColumns.ofPool(schema);
  }

  /** Where a field of the rows has the name of such a column, the field is meant. */
  @Override
  public boolean canRenameConflictingMetadataColumns() {
    return true;
  }

  @Override
  public RowLevelOperationBuilder newRowLevelOperationBuilder(RowLevelOperationInfo info) {
    for (String name : schema.fieldNames()) {
      if (MetadataColumns.isOfPool(name)) {
        throw LochanException.of(
            "Refused", "Rows with a field " + name + " cannot be changed from SQL: the name is that of a column that tells rows apart.", null);
      }
    }
    return () -> new RowLevelStatement(this, info.command(), options);
  }

  String target() {
    return target;
  }

  String commit() {
    return uri.substring(uri.indexOf('@') + 1);
  }

  @Override
  public boolean canDeleteWhere(Filter[] filters) {
    return FilterJson.isExact(filters) && planner.ask(delete("can_delete", filters)).get("exact").asBoolean();
  }

  @Override
  public void deleteWhere(Filter[] filters) {
    planner.ask(delete("delete", filters));
  }

  @Override
  public boolean truncateTable() {
    deleteWhere(new Filter[] {new AlwaysTrue()});
    return true;
  }

  private ObjectNode delete(String verb, Filter[] filters) {
    ObjectNode request = Planner.request(verb).put("uri", target).put("at", uri);
    request.set("filters", FilterJson.of(filters));
    return request;
  }

  private static List<String> texts(JsonNode given) {
    List<String> made = new ArrayList<>();
    given.forEach(each -> made.add(each.asText()));
    return made;
  }
}
