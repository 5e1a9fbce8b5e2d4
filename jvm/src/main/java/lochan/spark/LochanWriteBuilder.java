package lochan.spark;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.DataFrameWriter;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.connector.write.SupportsOverwrite;
import org.apache.spark.sql.connector.write.V1Write;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.sources.AlwaysTrue;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.InsertableRelation;

/**
 * Rows for a branch of a table, as one commit. They are sorted over all tasks by the pool's key, and written by the data
 * source `lochan`.
 */
final class LochanWriteBuilder implements WriteBuilder, SupportsOverwrite {
  private static final String SOURCE = "lochan";

  private final Planner planner;
  private final String at; // the table, with its commit
  private final String uri;
  private final List<String> key;
  private final Map<String, String> options;
  private SaveMode mode = SaveMode.Append;

  LochanWriteBuilder(
      Planner planner,
      String at,
      String uri,
      List<String> key,
      Map<String, String> catalog,
      Map<String, String> given) {
    this.planner = planner;
    this.at = at;
    this.uri = uri;
    this.key = key;
    this.options = new HashMap<>(catalog);
    this.options.putAll(given);
  }

  @Override
  public boolean canOverwrite(Filter[] filters) {
    return all(filters) || where(filters) != null;
  }

  /** What these filters choose is replaced, in the commit that brings the rows. */
  @Override
  public WriteBuilder overwrite(Filter[] filters) {
    mode = SaveMode.Overwrite;
    if (!all(filters)) {
      options.put("replaceWhere", where(filters));
    }
    return this;
  }

  @Override
  public Write build() {
    return new V1Write() {
      @Override
      public InsertableRelation toInsertableRelation() {
        return (rows, overwrite) -> insert(rows);
      }
    };
  }

  private void insert(Dataset<Row> rows) {
    DataFrameWriter<Row> writer = sorted(rows).write().format(SOURCE).options(options).mode(mode);
    writer.save(uri);
  }

  private Dataset<Row> sorted(Dataset<Row> rows) {
    List<String> names = List.of(rows.columns());
    Column[] columns = key.stream().filter(names::contains).map(FilterColumn::named).toArray(Column[]::new);
    return columns.length == 0 ? rows : rows.repartitionByRange(columns).sortWithinPartitions(columns);
  }

  /** A test of the query language for exactly the rows that pass the filters. Null: there is none. */
  private String where(Filter[] filters) {
    if (!FilterJson.isExact(filters)) {
      return null;
    }
    ObjectNode request = Planner.request("where").put("at", at);
    request.set("filters", FilterJson.of(filters));
    return planner.ask(request).get("where").textValue();
  }

  private static boolean all(Filter[] filters) {
    for (Filter each : filters) {
      if (!(each instanceof AlwaysTrue)) {
        return false;
      }
    }
    return true;
  }
}
