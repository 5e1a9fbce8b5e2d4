package lochan.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A pool or a folder of files by its options, at the commit that its ref named when the frame was made. */
final class SourceTable implements SupportsRead, SupportsWrite {
  private static final Planner PLANNER = new Planner(Map.of(), "lochan.spark.source_server");

  private final Map<String, String> options; // with the names that the user has written
  private final Map<String, String> pinned; // the same, with the commit in the path
  private final StructType schema;
  private final boolean own; // the schema is the user's
  private final boolean inPython; // its rows come through Python

  private SourceTable(Map<String, String> options, JsonNode found, StructType schema, boolean own) {
    this.options = options;
    this.pinned = new HashMap<>();
    found.get("pinned").properties().forEach(each -> pinned.put(each.getKey(), each.getValue().asText()));
    this.schema = schema;
    this.own = own;
    this.inPython = found.get("in_python").asBoolean();
  }

  static SourceTable of(Map<String, String> options) {
    JsonNode found = PLANNER.ask(request("load", options));
    return new SourceTable(options, found, (StructType) DataType.fromJson(found.get("schema").asText()), false);
  }

  /** Nothing says whether it will be read or written: whatever is wrong with it shows then. */
  static SourceTable of(Map<String, String> options, StructType schema) {
    StructType nullable = schema.asNullable(); // rows decide that, and no promise
    return new SourceTable(options, PLANNER.ask(request("pin", options)), nullable, true);
  }

  static ObjectNode request(String verb, Map<String, String> options) {
    ObjectNode request = Planner.request(verb);
    ObjectNode given = request.putObject("options");
    options.forEach(given::put);
    return request;
  }

  static JsonNode ask(ObjectNode request) {
    return PLANNER.ask(request);
  }

  /** A request for what a scan reads. */
  ObjectNode plan() {
    ObjectNode request = request("plan", pinned);
    return own ? request.put("schema", schema.json()) : request;
  }

  @Override
  public String name() {
    return "lochan " + new CaseInsensitiveStringMap(options).getOrDefault("path", "");
  }

  @Override
  public StructType schema() {
    return schema;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return Set.of(
        TableCapability.BATCH_READ,
        TableCapability.MICRO_BATCH_READ,
        TableCapability.V1_BATCH_WRITE,
        TableCapability.STREAMING_WRITE,
        TableCapability.TRUNCATE,
        TableCapability.ACCEPT_ANY_SCHEMA);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap given) {
    return inPython ? pythonScan() : new SourceScanBuilder(this);
  }

  /** The same table by the source in Python. */
  ScanBuilder pythonScan() {
    SupportsRead table = python(schema, pinned);
    return table.newScanBuilder(new CaseInsensitiveStringMap(pinned));
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    Map<String, String> all = new HashMap<>(options);
    all.putAll(info.options().asCaseSensitiveMap());
    return new Builder(all, info);
  }

  private static <T extends SupportsRead & SupportsWrite> T python(StructType schema, Map<String, String> options) {
    @SuppressWarnings("unchecked")
    T made = (T) new PythonSource().getTable(schema, new Transform[0], options);
    return made;
  }

  private static final class Builder implements SupportsTruncate {
    private final Map<String, String> options;
    private final LogicalWriteInfo info;
    private SaveMode mode = SaveMode.Append;

    Builder(Map<String, String> options, LogicalWriteInfo info) {
      this.options = options;
      this.info = info;
    }

    @Override
    public WriteBuilder truncate() {
      mode = SaveMode.Overwrite;
      return this;
    }

    @Override
    public Write build() {
      return new SourceWrite(options, mode, this::streaming);
    }

    private Write streaming() {
      SupportsWrite table = python(info.schema(), options);
      WriteBuilder builder = table.newWriteBuilder(info);
      return (mode == SaveMode.Overwrite ? ((SupportsTruncate) builder).truncate() : builder).build();
    }
  }
}
