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
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.write.SupportsOverwrite;
import org.apache.spark.sql.connector.write.V1Write;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.internal.connector.PredicateUtils;
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

  /** What cannot be replaced is refused by `overwrite`, which says why. */
  @Override
  public boolean canOverwrite(Predicate[] predicates) {
    return true;
  }

  @Override
  public WriteBuilder overwrite(Predicate[] predicates) {
    Filter[] filters = PredicateUtils.toV1(predicates);
    if (filters.length < predicates.length) { // some are no filters, and without them too much would be replaced
      throw refusal();
    }
    return overwrite(filters);
  }

  /** What these filters choose is replaced, in the commit that brings the rows. */
  @Override
  public WriteBuilder overwrite(Filter[] filters) {
    mode = SaveMode.Overwrite;
    if (!all(filters)) {
      options.put("replaceWhere", exactly(filters));
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

  private String exactly(Filter[] filters) {
    String where = where(filters);
    if (where == null) {
      throw refusal();
    }
    return where;
  }

  private RuntimeException refusal() {
    return LochanException.of(
        "Refused",
        "Rows of " + uri + " cannot be replaced by this condition: compare columns of a pool that hold values of one"
            + " kind with values, or DELETE the rows and INSERT the others.",
        null);
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
