package lochan.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A lake as a catalog: its pools are tables, and folders of Parquet files in a repository are tables of the namespace
 * that bears the repository's name.
 *
 * <pre>
 * spark.sql.catalog.lake       lochan.spark.LochanCatalog
 * spark.sql.catalog.lake.lake  s3://bucket/lake        (else the lake that the command line would use here)
 * </pre>
 */
public final class LochanCatalog implements TableCatalog, SupportsNamespaces {
  private String name;
  private Planner planner;
  private Map<String, String> options;

  @Override
  public void initialize(String name, CaseInsensitiveStringMap options) {
    this.name = name;
    this.options = options.asCaseSensitiveMap();
    this.planner = new Planner(this.options);
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Identifier[] listTables(String[] namespace) throws NoSuchNamespaceException {
    ObjectNode request = Planner.request("tables");
    namespace(request, namespace);
    List<Identifier> found = new ArrayList<>();
    for (JsonNode each : asked(request, namespace).get("tables")) {
      found.add(Identifier.of(namespace, each.asText()));
    }
    return found.toArray(Identifier[]::new);
  }

  @Override
  public Table loadTable(Identifier ident) throws NoSuchTableException {
    return load(ident, request("load", ident));
  }

  @Override
  public Table loadTable(Identifier ident, String version) throws NoSuchTableException {
    return load(ident, request("load", ident).put("version", version));
  }

  @Override
  public Table loadTable(Identifier ident, long timestamp) throws NoSuchTableException {
    return load(ident, request("load", ident).put("timestamp_us", timestamp));
  }

  @Override
  public Table createTable(Identifier ident, TableInfo info) throws TableAlreadyExistsException {
    ObjectNode request = request("create", ident);
    request.put("schema", info.schema().json());
    ObjectNode properties = request.putObject("properties");
    info.properties().forEach(properties::put);
    var partitioning = request.putArray("partitioning");
    for (var each : info.partitions()) {
      partitioning.add(each.describe());
    }
    try {
      planner.ask(request);
      return loadTable(ident);
    } catch (Exception error) {
      if (is(error, "LOCHAN_ALREADY_EXISTS")) {
        throw new TableAlreadyExistsException(ident);
      }
      throw sneaky(error);
    }
  }

  @Override
  public Table alterTable(Identifier ident, TableChange... changes) {
    throw LochanException.of(
        "Refused", "A pool takes rows of any shape: its columns are those of its rows, and cannot be altered.", null);
  }

  @Override
  public boolean dropTable(Identifier ident) {
    try {
      planner.ask(request("drop", ident));
      return true;
    } catch (Exception error) {
      if (is(error, "LOCHAN_NOT_FOUND")) {
        return false;
      }
      throw sneaky(error);
    }
  }

  @Override
  public void renameTable(Identifier from, Identifier to) throws NoSuchTableException, TableAlreadyExistsException {
    try {
      planner.ask(request("rename", from).put("to", to.name()));
    } catch (Exception error) {
      if (is(error, "LOCHAN_NOT_FOUND")) {
        throw new NoSuchTableException(from);
      }
      if (is(error, "LOCHAN_ALREADY_EXISTS")) {
        throw new TableAlreadyExistsException(to);
      }
      throw sneaky(error);
    }
  }

  @Override
  public String[][] listNamespaces() {
    List<String[]> found = new ArrayList<>();
    for (JsonNode each : planner.ask(Planner.request("namespaces")).get("namespaces")) {
      found.add(new String[] {each.asText()});
    }
    return found.toArray(String[][]::new);
  }

  @Override
  public String[][] listNamespaces(String[] namespace) throws NoSuchNamespaceException {
    if (namespace.length == 0) {
      return listNamespaces();
    }
    loadNamespaceMetadata(namespace);
    return new String[0][];
  }

  @Override
  public Map<String, String> loadNamespaceMetadata(String[] namespace) throws NoSuchNamespaceException {
    for (String[] each : namespace.length == 1 ? listNamespaces() : new String[0][]) {
      if (each[0].equals(namespace[0].split("@", 2)[0])) {
        return Map.of();
      }
    }
    throw new NoSuchNamespaceException(namespace);
  }

  @Override
  public void createNamespace(String[] namespace, Map<String, String> metadata) {
    throw LochanException.of(
        "Refused", "A repository is not created from Spark; use `lochan repo create " + namespace[0] + "`.", null);
  }

  @Override
  public void alterNamespace(String[] namespace, NamespaceChange... changes) {
    throw LochanException.of("Refused", "A repository has no properties that Spark could change.", null);
  }

  @Override
  public boolean dropNamespace(String[] namespace, boolean cascade) {
    throw LochanException.of(
        "Refused", "A repository is not dropped from Spark; use `lochan repo delete " + namespace[0] + "`.", null);
  }

  private Table load(Identifier ident, ObjectNode request) throws NoSuchTableException {
    try {
      JsonNode loaded = planner.ask(request);
      return loaded.get("files").asBoolean()
          ? new LochanFiles(planner, options, name, loaded)
          : new LochanTable(planner, options, name, loaded);
    } catch (Exception error) {
      if (is(error, "LOCHAN_NOT_FOUND") && !request.has("version") && !request.has("timestamp_us")) {
        throw new NoSuchTableException(ident);
      }
      throw sneaky(error);
    }
  }

  private JsonNode asked(ObjectNode request, String[] namespace) throws NoSuchNamespaceException {
    try {
      return planner.ask(request);
    } catch (Exception error) {
      if (is(error, "LOCHAN_NOT_FOUND") && namespace.length > 0) {
        throw new NoSuchNamespaceException(namespace);
      }
      throw sneaky(error);
    }
  }

  private static ObjectNode request(String verb, Identifier ident) {
    ObjectNode request = Planner.request(verb);
    namespace(request, ident.namespace());
    return request.put("name", ident.name());
  }

  private static void namespace(ObjectNode request, String[] namespace) {
    var array = request.putArray("namespace");
    for (String each : namespace) {
      array.add(each);
    }
  }

  private static boolean is(Exception error, String condition) {
    return error instanceof AnalysisException known && condition.equals(known.getCondition());
  }

  @SuppressWarnings("unchecked")
  private static <T extends Throwable> RuntimeException sneaky(Throwable error) throws T {
    throw (T) error;
  }
}
