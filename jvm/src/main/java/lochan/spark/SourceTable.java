package lochan.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
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
  private final Table python; // by the source in Python; null: Spark itself reads it

  private SourceTable(
      Map<String, String> options, Map<String, String> pinned, StructType schema, boolean own, Table python) {
    this.options = options;
    this.pinned = pinned;
    this.schema = schema;
    this.own = own;
    this.python = python;
  }

  static SourceTable of(Map<String, String> options) {
    JsonNode found = PLANNER.ask(read("load", options));
    if (isUnreadable(found)) {
      return ofPython(options);
    }
    StructType schema = (StructType) DataType.fromJson(found.get("schema").asText());
    return new SourceTable(options, pinned(found), schema, false, null);
  }

  /** Nothing says whether it will be read or written: whatever is wrong with it shows then. */
  static SourceTable of(Map<String, String> options, StructType schema) {
    JsonNode found = PLANNER.ask(read("pin", options));
    StructType nullable = schema.asNullable(); // rows decide that, and no promise
    return isUnreadable(found)
        ? ofPython(options, nullable)
        : new SourceTable(options, pinned(found), nullable, true, null);
  }

  private static ObjectNode read(String verb, Map<String, String> options) {
    return request(verb, options).put("s3a", hasS3a());
  }

  /** Its store is one that Spark itself cannot read. */
  private static boolean isUnreadable(JsonNode found) {
    return !found.has("pinned");
  }

  private static boolean hasS3a() {
    try {
      Thread.currentThread().getContextClassLoader().loadClass("org.apache.hadoop.fs.s3a.S3AFileSystem");
      return true;
    } catch (ClassNotFoundException none) {
      return false;
    }
  }

  /**
   * By the source in Python. Of files, what is staged on the branch is read too, so no commit says which these are: that
   * source holds them.
   */
  static SourceTable ofPython(Map<String, String> options) {
    PythonSource source = new PythonSource();
    StructType schema = source.inferSchema(new CaseInsensitiveStringMap(options));
    Table python = source.getTable(schema, new Transform[0], options);
    return new SourceTable(options, options, schema, false, python);
  }

  static SourceTable ofPython(Map<String, String> options, StructType schema) {
    Table python = new PythonSource().getTable(schema, new Transform[0], options);
    return new SourceTable(options, options, schema, true, python);
  }

  private static Map<String, String> pinned(JsonNode found) {
    Map<String, String> made = new HashMap<>();
    found.get("pinned").properties().forEach(each -> made.put(each.getKey(), each.getValue().asText()));
    return made;
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
    return python == null ? new SourceScanBuilder(this) : ((SupportsRead) python).newScanBuilder(given);
  }

  /** The same table by the source in Python. A stream follows the branch, with the columns of the commit. */
  ScanBuilder pythonScan() {
    Map<String, String> given = new HashMap<>(options);
    String path = new CaseInsensitiveStringMap(pinned).getOrDefault("path", "");
    given.put("versionAsOf", path.substring(path.indexOf('@') + 1));
    SupportsRead table = (SupportsRead) new PythonSource().getTable(schema, new Transform[0], given);
    return table.newScanBuilder(new CaseInsensitiveStringMap(given));
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    Map<String, String> all = new HashMap<>(options);
    all.putAll(info.options().asCaseSensitiveMap());
    return new Builder(all, info);
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
      Table table = new PythonSource().getTable(info.schema(), new Transform[0], options);
      WriteBuilder builder = ((SupportsWrite) table).newWriteBuilder(info);
      return (mode == SaveMode.Overwrite ? ((SupportsTruncate) builder).truncate() : builder).build();
    }
  }
}
