package lochan.spark;

import static org.apache.spark.sql.functions.col;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation$;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.TableScan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Rows of a table: Spark's own scan of the Parquet files that the lake's plan names, and the plan's SQL over it.
 *
 * <p>The SQL runs in a session of its own, a copy of the user's, whose settings say what the SQL means.
 */
final class LochanRelation extends BaseRelation implements TableScan {
  private static final String ROW = "#row"; // what the lake's plan calls it

  private final SQLContext context;
  private final StructType columns;
  private final Filter[] filters;
  private final JsonNode planned;

  LochanRelation(SQLContext context, StructType columns, Filter[] filters, JsonNode planned) {
    this.context = context;
    this.columns = columns;
    this.filters = filters;
    this.planned = planned;
  }

  /** As plans show it. */
  @Override
  public String toString() {
    return "lochan objects=" + planned.get("size").get("objects").asInt();
  }

  @Override
  public SQLContext sqlContext() {
    return context;
  }

  @Override
  public StructType schema() {
    return columns;
  }

  /** Rows come as Spark itself has them. */
  @Override
  public boolean needConversion() {
    return false;
  }

  @Override
  @SuppressWarnings({"unchecked", "rawtypes"})
  public RDD<Row> buildScan() {
    SparkSession session = ((SparkSession) context.sparkSession()).cloneSession();
    planned.get("settings").properties().forEach(each -> session.conf().set(each.getKey(), each.getValue().asText()));
    for (JsonNode scan : planned.get("scans")) {
      files(session, scan).createOrReplaceTempView(scan.get("view").asText());
    }
    Dataset<Row> rows = rows(session);
    for (Filter each : filters) {
      Column test = FilterColumn.of(each);
      rows = test == null ? rows : (Dataset<Row>) rows.filter(test);
    }
    rows = (Dataset<Row>) rows.select(names());
    return (RDD) rows.queryExecution().toRdd();
  }

  /** By the plan's SQL; files that are put together come from the data source. */
  private Dataset<Row> rows(SparkSession session) {
    JsonNode source = planned.get("source");
    if (source == null) {
      return (Dataset<Row>) session.sql(planned.get("sql").asText());
    }
    Map<String, String> options = new HashMap<>();
    planned.get("source_options").properties().forEach(each -> options.put(each.getKey(), each.getValue().asText()));
    return (Dataset<Row>) session.read().format(PythonSource.NAME).options(options).load(source.asText());
  }

  private Column[] names() {
    List<Column> made = new ArrayList<>();
    for (String name : columns.fieldNames()) {
      made.add(FilterColumn.named(name));
    }
    return made.toArray(Column[]::new);
  }

  private Dataset<Row> files(SparkSession session, JsonNode scan) {
    String text = scan.get("schema").asText();
    StructType schema = text.startsWith("{") ? (StructType) DataType.fromJson(text) : StructType.fromDDL(text);
    boolean identity = planned.get("identity").asBoolean();
    Map<String, String> given = new HashMap<>();
    planned.get("options").properties().forEach(each -> given.put(each.getKey(), each.getValue().asText()));
    HadoopFsRelation relation =
        new HadoopFsRelation(
            ObjectIndex.of(scan.get("files"), identity),
            ObjectIndex.partitions(identity),
            schema,
            Option.empty(),
            new ParquetFileFormat(),
            scala.collection.immutable.Map.from(CollectionConverters.asScala(given)),
            session);
    Dataset<Row> rows = Dataset$.MODULE$.ofRows(session, LogicalRelation$.MODULE$.apply(relation, false));
    return identity ? (Dataset<Row>) rows.select(col("*"), col("_metadata.row_index").as(ROW)) : rows;
  }
}
