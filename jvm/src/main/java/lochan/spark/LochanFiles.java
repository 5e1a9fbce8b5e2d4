package lochan.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A folder of Parquet files of a repository, at a commit. Rows are added to it, or replace all of it. */
final class LochanFiles implements SupportsRead, SupportsWrite, SupportsMetadataColumns {
  private final Planner planner;
  private final Map<String, String> options;
  private final String catalog;
  private final String uri; // with the commit
  private final String target; // with the branch that rows are written to
  private final StructType schema;

  LochanFiles(Planner planner, Map<String, String> options, String catalog, JsonNode loaded) {
    this.planner = planner;
    this.options = options;
    this.catalog = catalog;
    this.uri = loaded.get("uri").asText();
    this.target = loaded.get("target").asText();
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
    return Map.of("provider", "lochan", "uri", uri);
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
  public MetadataColumn[] metadataColumns() {
    return MetadataColumns.ofFiles();
  }

  @Override
  public boolean canRenameConflictingMetadataColumns() {
    return true;
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap given) {
    return new LochanScanBuilder(planner, uri, schema);
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return new LochanWriteBuilder(planner, uri, target, List.of(), options, info.options().asCaseSensitiveMap());
  }
}
